// Package cpuprofile writes the CPU profile of a server into a file, for go build -pgo. No server offers it over HTTP.
package cpuprofile

import (
	"errors"
	"os"
	"runtime/pprof"
)

// While runs a server. With the name of a file, it profiles the run and writes the file at its end.
func While(file string, run func() error) error {
	if file == "" {
		return run()
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	if err = pprof.StartCPUProfile(out); err != nil {
		return errors.Join(err, out.Close())
	}
	err = run()
	pprof.StopCPUProfile()
	return errors.Join(err, out.Close())
}
