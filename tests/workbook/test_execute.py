"""How the command executes a notebook."""

import subprocess
import sys

from runners.core.project import PROJECT

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
