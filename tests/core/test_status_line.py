"""The status line: one line that is replaced on a terminal, and lines that stay elsewhere."""

import re

import pytest

from runners.core import status_line
from runners.core.status_line import COLUMNS, StatusLine, columns, note, steps


class Written:
    """All that was written to standard error."""

    def __init__(self, capsys):
        self.capsys, self.text = capsys, ""

    def getvalue(self):
        self.text += self.capsys.readouterr().err
        return self.text


@pytest.fixture
def written(monkeypatch, capsys):
    monkeypatch.setattr(status_line, "_LEAST_S", 0.0)
    monkeypatch.delenv(COLUMNS, raising=False)
    return Written(capsys)


@pytest.fixture
def terminal(written, monkeypatch):
    monkeypatch.setenv(COLUMNS, "40")
    return written


def screen(text, width=40):
    """Return the lines that a terminal shows of what was written."""
    lines = [[]]
    at = 0
    for letter in text:
        if letter == "\n":
            lines.append([])
            at = 0
        elif letter == "\r":
            at = 0
        else:
            assert at < width, "a line goes on in the next one"
            lines[-1][at:] = [letter, *lines[-1][at + 1 :]]
            at += 1
    return ["".join(line).rstrip() for line in lines]


def test_without_a_terminal_each_step_is_a_line_and_nothing_returns_to_its_start(written):
    with StatusLine() as line:
        line.begin("Block 1 of 3")
        line.show("Block 1 of 3 · window 1 of 9")
        line.begin("Block 2 of 3")
        line.note("Measured 3 s")
    assert written.getvalue() == "Block 1 of 3\nBlock 2 of 3\nMeasured 3 s\n"


def test_a_terminal_shows_the_newest_text_only_and_nothing_at_the_end(terminal):
    with StatusLine() as line:
        line.begin("Block 1 of 3, 20 s left")
        line.show("Block 1")
        assert screen(terminal.getvalue()) == ["Block 1"]
    assert screen(terminal.getvalue()) == [""]


def test_a_line_is_never_longer_than_the_terminal(terminal):
    with StatusLine() as line:
        line.begin("x" * 200)
        assert screen(terminal.getvalue()) == ["x" * 38 + "…"]


def test_a_note_stays_above_the_line(terminal):
    with StatusLine() as line:
        line.begin("Block 1")
        note("Waiting for ports")
        assert screen(terminal.getvalue()) == ["Waiting for ports", "Block 1"]
    note("afterwards")
    assert screen(terminal.getvalue()) == ["Waiting for ports", "afterwards", ""]


def test_an_interrupt_leaves_the_terminal_clean(terminal):
    def interrupted():
        with StatusLine() as line:
            line.begin("Block 1")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert screen(terminal.getvalue()) == [""]
    assert not re.search(r"\x1b", terminal.getvalue())


def test_steps_are_counted_on_a_terminal_and_named_once_elsewhere(written, monkeypatch):
    assert list(steps("ab", "Verifying")) == ["a", "b"]
    assert written.getvalue() == "Verifying\n"
    monkeypatch.setenv(COLUMNS, "40")
    seen = [screen(written.getvalue())[-1] for _ in steps("ab", "Verifying")]
    assert seen == ["Verifying: 1 of 2", "Verifying: 2 of 2"]


@pytest.mark.parametrize(("given", "found"), [("120", 120), ("0", 0), ("", 0), ("wide", 0)])
def test_a_kernel_is_told_the_columns_and_has_none_by_itself(written, monkeypatch, given, found):
    monkeypatch.setenv(COLUMNS, given)
    assert columns() == found
