"""How the command executes a notebook."""

import json
import os
import signal
import subprocess
import sys
import time
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


def test_a_kernel_that_is_interrupted_while_it_starts_ends_at_once_and_says_nothing(tmp_path):
    argv = json.loads((PROJECT / "runners/workbook/kernels/wrkbook/kernel.json").read_text())["argv"]
    command = [word.format(prefix=sys.prefix, connection_file=tmp_path / "kernel.json") for word in argv]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as kernel:
        while "zmq" not in Path(f"/proc/{kernel.pid}/maps").read_text():  # among the first that it imports
            time.sleep(0.001)
        kernel.send_signal(signal.SIGINT)
        output, _ = kernel.communicate(timeout=30)
    assert (kernel.returncode, output) == (-signal.SIGINT, "")


def test_an_interrupt_waits_until_the_notebook_has_ended(monkeypatch):
    """It ended the kernel without waiting: what was still being written could make another error of the interrupt."""
    ended = []

    def papermill(*_):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.5)
        ended.append(True)

    monkeypatch.setattr(execute, "_papermill", papermill)
    with pytest.raises(KeyboardInterrupt):
        execute.execute("01-ping", {}, Path("nowhere.ipynb"))
    assert ended


def test_after_an_interrupt_that_the_kernel_did_not_hear_no_cell_begins(monkeypatch, tmp_path):
    """Between two cells a kernel ignores SIGINT: it measured on until it was killed ten seconds later."""
    ended, papermill = [], execute._papermill

    def interrupted_at_the_start(*arguments):
        os.kill(os.getpid(), signal.SIGINT)
        arguments[-1].wait()
        with pytest.raises(InterruptedError):
            papermill(*arguments)
        ended.append(True)

    monkeypatch.setattr(execute, "_papermill", interrupted_at_the_start)
    monkeypatch.setattr(execute, "_send", lambda *_: None)
    with pytest.raises(KeyboardInterrupt):
        execute.execute("01-ping", {}, tmp_path / "out.ipynb", measuring=False)
    assert ended


@pytest.mark.parametrize("count", [0, 132])
def test_the_kernel_is_told_whether_its_standard_error_reaches_a_terminal(monkeypatch, count):
    told = []
    monkeypatch.setattr(execute, "columns", lambda: count)
    monkeypatch.setattr(execute, "_papermill", lambda *_: told.append(os.environ[COLUMNS]))
    execute.execute("01-ping", {}, Path("nowhere.ipynb"))
    assert told == [str(count)]
    assert COLUMNS not in os.environ
