"""Executes notebooks with papermill, shows their progress, and ends them in order when the user interrupts."""

from __future__ import annotations

import importlib
import logging
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from runners.core.errors import WrkbookError
from runners.core.project import NOTEBOOKS, PROJECT, WITHOUT_MEASURING
from runners.core.status_line import COLUMNS, columns
from runners.systems.sandbox import orphans_ended

if TYPE_CHECKING:
    from jupyter_client.manager import AsyncKernelManager

_END_TIMEOUT_S = 10.0
# The project's own kernel: it ends with its parent even before it could look for it itself, and without a word when it is
# interrupted before it can execute anything; from then on, the kernel itself minds the signal. It imports what notebooks import while
# the process that started it does likewise. When all that it registered for its end is done, it ends at once: to free tables piece by
# piece takes Python half a second.
_KERNEL, _KERNELS = "wrkbook", PROJECT / "runners" / "workbook"


def execute(notebook: str, parameters: dict[str, Any], output: Path, *, measuring: bool = True) -> None:
    """Execute a notebook into `output`; what it writes to standard error (its progress) is shown as it comes.

    Raises
    ------
    WrkbookError
        When the notebook ends with an error; one that wrkbook raised keeps its words.
    KeyboardInterrupt
        After an interrupt, when the notebook's kernel has ended its servers.
    """
    failure: list[BaseException] = []
    # Not the thread itself is waited for: an interrupt during join() makes Python 3.11 take a thread for ended that still runs.
    ended, interrupted = threading.Event(), threading.Event()

    with _environment(measuring), orphans_ended() as remove_ended, _kernel() as kernel:
        import_all()

        def work() -> None:
            try:
                _papermill(notebook, parameters, output, kernel, interrupted)
            except BaseException as error:
                failure.append(error)
            finally:
                ended.set()

        # In a thread of its own, so that an interrupt reaches this one, which can then tell the kernel to stop.
        try:
            threading.Thread(target=work, daemon=True).start()
            while not ended.wait(0.2):
                remove_ended()
        except KeyboardInterrupt:
            interrupted.set()
            _stop(ended)
            raise
    if failure:
        raise _readable(notebook, failure[0])


def import_all() -> None:
    """Import what executing and reporting need: a second, so only when something is executed; and before there are two threads.

    Of two threads that import the same packages, Python lets one see a half-initialised module rather than block both.
    """
    for name in ("papermill", "runners.workbook.reports"):
        importlib.import_module(name)


@contextmanager
def _kernel() -> Iterator[AsyncKernelManager]:
    """Start a kernel at once, so that it imports while this process does; it has ended when the context ends."""
    from jupyter_client.manager import AsyncKernelManager  # a tenth of a second, only where something is executed
    from jupyter_core.utils import run_sync

    # Sockets in a folder of the user's own in the place of TCP ports that every user of the machine could connect to.
    # Of this run's own, too: left alone, jupyter_client takes the names that it finds free in the working folder, and
    # two runs that start at the same moment find the same.
    with tempfile.TemporaryDirectory(prefix="wrkbook-") as folder:
        manager = AsyncKernelManager(kernel_name=_KERNEL, transport="ipc", ip=f"{folder}/kernel")
        # No history: several kernels would write into one file.
        run_sync(manager.start_kernel)(cwd=str(PROJECT), extra_arguments=["--HistoryManager.hist_file=:memory:"])
        try:
            yield manager
        finally:
            if run_sync(manager.is_alive)():
                run_sync(manager.shutdown_kernel)()
            run_sync(manager.cleanup_resources)()


def _papermill(
    notebook: str,
    parameters: dict[str, Any],
    output: Path,
    kernel: AsyncKernelManager,
    interrupted: threading.Event,
) -> None:
    import papermill  # imported already

    def before_cell(**_: object) -> None:
        # Between two cells a kernel does not hear SIGINT: the next one must not begin.
        if interrupted.is_set():
            raise InterruptedError(notebook)

    # Parameters are checked by the notebook itself, which knows more of them than its own cell names.
    logging.getLogger("papermill").setLevel(logging.ERROR)
    papermill.execute_notebook(
        str(NOTEBOOKS / f"{notebook}.ipynb"),
        str(output),
        parameters=parameters,
        cwd=str(PROJECT),
        kernel_name=_KERNEL,
        km=kernel,
        on_cell_start=before_cell,
        progress_bar=False,
        request_save_on_cell_execute=False,  # whoever interrupts it keeps blocks, not notebooks
        stderr_file=sys.stderr,
    )


def _stop(ended: threading.Event) -> None:
    """Interrupt the kernels below this process; kill those that do not end: their servers end with them."""
    for number in (signal.SIGINT, signal.SIGKILL):
        # Searched each time: one that was just being started was not there before, and between two cells none hears SIGINT.
        for child in psutil.Process().children():
            if "ipykernel_launcher" in " ".join(_command_line(child)):
                _send(child, number)
        if ended.wait(_END_TIMEOUT_S):
            break


def _readable(notebook: str, error: BaseException) -> BaseException:
    if getattr(error, "ename", "") == "WrkbookError":
        return WrkbookError(str(error.evalue))  # type: ignore[attr-defined]
    if getattr(error, "ename", "") == "KeyboardInterrupt":
        return KeyboardInterrupt()
    ename, evalue = getattr(error, "ename", type(error).__name__), getattr(error, "evalue", str(error))
    return WrkbookError(
        f"notebook {notebook} ended with {ename}: {evalue}", f"open it: ./wrkbook lab, notebooks/{notebook}.ipynb"
    )


@contextmanager
def _environment(measuring: bool) -> Iterator[None]:
    if measuring:
        os.environ.pop(WITHOUT_MEASURING, None)
    else:
        os.environ[WITHOUT_MEASURING] = "1"
    # The kernel's standard error is a pipe, also where that of this process is a terminal.
    os.environ[COLUMNS] = str(columns())
    # The notebooks' own status line and warnings are shown; the kernel's debugger has nothing to say here.
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    places = [str(_KERNELS), *filter(None, os.environ.get("JUPYTER_PATH", "").split(os.pathsep))]
    os.environ["JUPYTER_PATH"] = os.pathsep.join(dict.fromkeys(places))
    try:
        yield
    finally:
        os.environ.pop(WITHOUT_MEASURING, None)
        os.environ.pop(COLUMNS, None)


def _command_line(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []


def _send(process: psutil.Process, number: signal.Signals) -> None:
    with suppress(psutil.Error):
        process.send_signal(number)
