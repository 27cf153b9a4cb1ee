"""How the command executes a notebook."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from runners.core.project import PROJECT
from runners.core.status_line import COLUMNS
from runners.workbook import execute

# In a process of its own: here, everything is imported already.
_IMPORTS_AT_THE_START = """
import sys, types
from pathlib import Path

from runners.workbook.execute import execute

def execute_notebook(*_, **__):
    print(hasattr(sys.modules.get("runners.workbook.reports"), "refresh_index"))  # the last that it defines

sys.modules["papermill"] = types.SimpleNamespace(execute_notebook=execute_notebook)
execute("01-ping", {}, Path("nowhere.ipynb"))
"""


def test_nothing_is_left_to_import_while_papermill_works_in_a_thread_of_its_own():
    """Two threads that imported jupyter_client at the same time saw it half-initialised: the notebook ended with an ImportError."""
    outcome = subprocess.run(
        [sys.executable, "-c", _IMPORTS_AT_THE_START], capture_output=True, text=True, cwd=PROJECT, timeout=60
    )
    assert outcome.stdout == "True\n", outcome.stderr


@pytest.mark.parametrize("count", [0, 132])
def test_the_kernel_is_told_whether_its_standard_error_reaches_a_terminal(monkeypatch, count):
    told = []
    monkeypatch.setattr(execute, "columns", lambda: count)
    monkeypatch.setattr(execute, "_papermill", lambda *_: told.append(os.environ[COLUMNS]))
    execute.execute("01-ping", {}, Path("nowhere.ipynb"))
    assert told == [str(count)]
    assert COLUMNS not in os.environ
