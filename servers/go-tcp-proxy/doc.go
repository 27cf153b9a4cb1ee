// Package locked is empty: what is built is the tool that go.mod names.
package locked
