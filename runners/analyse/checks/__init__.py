"""The checks of every trial, by subject."""
