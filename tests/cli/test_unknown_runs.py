"""Commands with a run-id that is not there: they list the runs, and do not load what takes seconds."""

import os
import subprocess
import sys

import pytest

from runners.core.project import PROJECT
from runners.store.ledger import Run
from tests.analyse.synthetic import manifest

_COMMAND = """
import sys
from runners.cli.commands import main

try:
    main()
finally:
    print(sorted({"pandas", "papermill", "matplotlib", "scipy"} & set(sys.modules)))
"""


@pytest.mark.parametrize(
    "arguments", [["compare", "r1", "r2"], ["compare", "r2", "r1", "--experiment", "01"], ["report", "r2"]]
)
def test_an_unknown_run_lists_the_runs_with_their_states_before_anything_large_is_imported(tmp_path, arguments):
    Run("01-ping", "r1", tmp_path / "raw").open(manifest())
    outcome = subprocess.run(
        [sys.executable, "-c", _COMMAND, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "WRKBOOK_DATA": str(tmp_path)},
        cwd=PROJECT,
        timeout=60,
    )
    assert outcome.returncode == 1
    assert "there is no run 'r2'" in outcome.stderr
    assert "01-ping: r1 (complete)" in outcome.stderr
    assert outcome.stdout == "[]\n"
