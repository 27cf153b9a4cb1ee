"""Output of the commands for people: as wide as the terminal; elsewhere each row of a table in one line, without colours.

rich reads ``NO_COLOR``, ``COLUMNS`` and ``TERM``.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from runners.core.errors import WrkbookError, visible

_ANY_WIDTH = 10_000
# A name of this length is not broken.
_LONGEST_NAME = 24
REMEDY_INDENT = "    "
INTERRUPTED = 130
"""The exit status after an interrupt."""
_OF_THE_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.ENOTDIR}
MARKS = {"✓": "green", "!": "yellow", "✗": "red"}


def console() -> Console:
    """Return standard output; a pipe is as wide as what is written to it."""
    width = None if sys.stdout.isatty() else _ANY_WIDTH
    return Console(width=width, highlight=False, markup=False, emoji=False)


@contextmanager
def failures_told(status: int = 1) -> Iterator[None]:
    """Print an error that the user can mend, without a traceback, and exit with this status."""
    try:
        yield
    except (WrkbookError, OSError) as error:
        if isinstance(error, OSError) and error.errno not in _OF_THE_DISK:
            raise
        shown = error if isinstance(error, WrkbookError) else WrkbookError(str(error), "check the disk: df -h")
        print(f"wrkbook: {shown}", file=sys.stderr)
        sys.exit(status)


def show(*parts: RenderableType) -> None:
    """Print parts one below the other; lines of text are not broken."""
    target = console()
    if not target.is_terminal:
        print(plain(*parts))
        return
    for part in parts:
        target.print(part, soft_wrap=isinstance(part, str))


def plain(*parts: RenderableType) -> str:
    """Return what a pipe gets of these parts."""
    target = Console(width=_ANY_WIDTH, highlight=False, markup=False, emoji=False, no_color=True, force_terminal=False)
    with target.capture() as captured:
        for part in parts:
            target.print(part)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, title: str = "", right: Sequence[int] = ()) -> Table:
    """Return a table of texts; the columns at the places `right` are numbers, which a narrow terminal never breaks."""
    made = Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
        header_style="bold",
        title=title or None,
        title_justify="left",
        title_style="bold",
    )
    for place, head in enumerate(heads):
        longest = max(map(len, (head, *(row[place] for row in rows))))
        whole = place in right or (place == 0 and longest <= _LONGEST_NAME)
        # rich first narrows all columns that may be broken, whatever their least width.
        made.add_column(
            head,
            justify="right" if place in right else "left",
            overflow="fold",
            min_width=longest if whole else None,
            no_wrap=whole,
        )
    for row in rows:
        made.add_row(*(marked(cell) for cell in row))
    return made


def marked(text: str) -> Text:
    """Return a text without unprintable characters; its first mark (✓ ! ✗) is coloured."""
    shown = Text(visible(text))
    if text[:1] in MARKS:
        shown.stylize(MARKS[text[0]], 0, 1)
    return shown


def hanging(mark: str, text: str) -> Table:
    """Return a text whose further lines stand under its first word, not under its mark."""
    made = Table.grid(padding=(0, 1))
    made.add_column(no_wrap=True)
    made.add_column(overflow="fold")
    made.add_row(marked(mark), Text(visible(text)))
    return made


def findings(text: str) -> Iterator[RenderableType]:
    """Yield the findings of a diagnosis: a line for each with a coloured mark, its remedy below it, and what else it says."""
    for line in text.splitlines():
        mark, _, rest = line.partition(" ")
        if mark in MARKS:
            yield hanging(mark, rest)
        elif line.startswith(f"{REMEDY_INDENT}→ "):
            yield hanging(f"{REMEDY_INDENT}→", line.removeprefix(f"{REMEDY_INDENT}→ "))
        else:
            yield line


def verified(name: str, differences: Sequence[str]) -> Iterator[RenderableType]:
    """Yield whether a server keeps the contract, and each difference."""
    count = len(differences)
    kept = f"{count} difference{'' if count == 1 else 's'} from the contract" if count else "keeps the contract"
    yield hanging("✗" if count else "✓", f"{name}: {kept}")
    for difference in differences:
        yield hanging("   ", difference)
