"""Load generators: one file each, with the command line of a tool and the parser of what it prints."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from runners.core.load import Load, LoadResult, Request

LOAD_FOLDER = "/load"
"""Where the sandbox shows, read-only, the folder that :meth:`Generator.prepare` filled."""


class GeneratorError(ValueError):
    """A load that the generator cannot make, or output that cannot be trusted; the message says which and why."""


class Generator(Protocol):
    """The interface of a load generator: its command line and its parser; it starts nothing itself.

    Attributes
    ----------
    name : as its authors write it
    packages : Debian packages that hold it
    built_by : the folder of ``servers/`` that builds it, or something for it, shown at /build; None where nothing is built
    clock : the library in its sandbox that lets its clock stand still while it is stopped (``servers/wrk/clock.cpp``); None: it cannot
        be measured in time slices
    reports_cpu : whether its report holds its own CPU time: then no sample has to be taken while it keeps a schedule
    opens_first : whether it opens all its connections before it sends the first request, and ends when it gets SIGINT
    """

    name: str
    packages: tuple[str, ...]
    built_by: str | None
    clock: str | None
    opens_first: bool
    reports_cpu: bool

    def prepare(self, request: Request, folder: Path) -> None:
        """Write what :meth:`command` refers to into a folder, once for any number of windows."""
        ...

    def command(self, request: Request, load: Load, host: str, port: int) -> list[str]:
        """Return the arguments of one window, for a sandbox that shows the prepared folder as ``LOAD_FOLDER``.

        Tools that take whole seconds only get the next whole second: whoever starts the command sends it
        SIGINT after ``load.duration_s``. Tools that take fractions ignore that signal.

        Raises
        ------
        GeneratorError
            When the tool cannot make this load.
        """
        ...

    def parse(self, stdout: str, load: Load) -> LoadResult:
        """Parse the tool's report of one window.

        Raises
        ------
        GeneratorError
            When the output is incomplete, belongs to another load, or contradicts itself.
        """
        ...

    def condensed(self, stdout: str, load: Load, *, coarse: bool = False) -> str:
        """Return a shorter form of output that :meth:`parse` accepts, with the same meaning.

        With `coarse`, latencies may lose further digits: of a warm-up nobody reads them.
        """
        ...
