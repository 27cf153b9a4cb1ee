package batch

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestSonicRunsCodeThatItCompiled(t *testing.T) {
	if err := StartSonic(); err != nil {
		t.Error(err)
	}
}

// sonic reads its switch to the interpreter once, so that a process of its own is needed.
func TestNothingStartsWhereSonicInterprets(t *testing.T) {
	if os.Getenv("SONIC_USE_OPTDEC") == "1" {
		if err := StartSonic(); err != errNotCompiled {
			t.Fatal(err)
		}
		t.Log("refused to start")
		return
	}
	again := exec.Command(os.Args[0], "-test.run", t.Name(), "-test.v")
	again.Env = append(os.Environ(), "SONIC_USE_OPTDEC=1")
	if out, err := again.CombinedOutput(); err != nil || !strings.Contains(string(out), "refused to start") {
		t.Errorf("%v\n%s", err, out)
	}
}
