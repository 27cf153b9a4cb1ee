package cpuprofile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

var errServer = errors.New("the server failed")

func TestAProfileIsWrittenOnlyIntoANamedFile(t *testing.T) {
	named := filepath.Join(t.TempDir(), "cpu.pprof")
	for file, want := range map[string]bool{"": false, named: true} {
		if err := While(file, func() error { return errServer }); !errors.Is(err, errServer) {
			t.Error(file, err)
		}
		about, err := os.Stat(named)
		if written := err == nil && about.Size() > 0; written != want && file != "" {
			t.Error(file, written, err)
		}
	}
}

func TestAFileThatCannotBeMadeIsAnErrorBeforeTheServerRuns(t *testing.T) {
	err := While(filepath.Join(t.TempDir(), "missing", "cpu.pprof"), func() error { t.Error("it ran"); return nil })
	if !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
