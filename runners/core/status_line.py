"""The status line: what runs now, in one line on standard error that is replaced; without a terminal, a line for each step.

Own code: rich's live display hides the cursor and draws from a thread. This line is written by a notebook's kernel, whose end, also by a
signal, must leave the terminal as it was.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")

COLUMNS = "WRKBOOK_STATUS_COLUMNS"
"""Environment variable with the terminal's columns, for kernels whose standard error reaches it through others; 0: there is no terminal."""

_USUAL_COLUMNS = 80
# Several steps a second cannot be read.
_LEAST_S = 0.2
_active: list[StatusLine] = []


def columns() -> int:
    """Return the columns of the terminal that standard error reaches; 0 when it reaches none."""
    given = os.environ.get(COLUMNS, "")
    if given.isdecimal():
        return int(given)
    if not sys.stderr.isatty():
        return 0
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or _USUAL_COLUMNS
    except (OSError, ValueError):
        return _USUAL_COLUMNS


class StatusLine:
    """One line that is replaced while something runs; used as a context, it is removed at the end."""

    def __init__(self) -> None:
        self._columns, self._text, self._shown_count, self._drawn_s = columns(), "", 0, 0.0

    def __enter__(self) -> StatusLine:
        _active.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _active.remove(self)
        self.clear()

    def begin(self, text: str) -> None:
        """Say what has begun: without a terminal, in a line that stays."""
        if self._columns:
            self._draw(text)
        else:
            _write(f"{text}\n")

    def show(self, text: str) -> None:
        """Replace the line, at most five times a second; without a terminal, do nothing."""
        if self._columns and time.monotonic() - self._drawn_s >= _LEAST_S:
            self._draw(text)

    def note(self, text: str) -> None:
        """Print a line that stays, above the status line."""
        kept = self._text
        self.clear()
        _write(f"{text}\n")
        if kept:
            self._draw(kept)

    def clear(self) -> None:
        """Remove the line from the terminal."""
        if self._shown_count:
            _write(f"\r{' ' * self._shown_count}\r")
        self._text, self._shown_count = "", 0

    def _draw(self, text: str) -> None:
        # A line that fills the terminal would go on in the next one, where a carriage return does not reach it.
        shown = text if len(text) < self._columns else f"{text[: self._columns - 2]}…"
        # Spaces, not an escape sequence: JupyterLab shows this line too.
        _write(f"\r{shown}{' ' * (self._shown_count - len(shown))}")
        self._text, self._shown_count, self._drawn_s = text, len(shown), time.monotonic()


def note(text: str) -> None:
    """Print a line that stays on standard error, above the status line where one is shown."""
    if _active:
        _active[-1].note(text)
    else:
        _write(f"{text}\n")


def clear() -> None:
    """Remove the status line, where one is shown, before something else is printed on the terminal."""
    if _active:
        _active[-1].clear()


def steps(items: Sequence[T], title: str) -> Iterator[T]:
    """Yield each item, and count them in a status line."""
    with StatusLine() as status:
        status.begin(title)
        for place, item in enumerate(items, start=1):
            status.show(f"{title}: {place} of {len(items)}")
            yield item


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
