"""Several runs are reported side by side: in order, each failure told, and none left behind."""

import sys
import time

import psutil
import pytest

from runners.cli import rebuilding
from runners.store.ledger import Run

SLOW, QUICK, WRONG = (Run(name, "r1") for name in ("02-json-decode", "01-ping", "03-json-roundtrip"))
CODE = {
    SLOW: "import time; time.sleep(0.5); print('slow')",
    QUICK: "print('quick')",
    WRONG: "import sys; print('wrong'); sys.exit(1)",
}


@pytest.fixture(autouse=True)
def _code(monkeypatch):
    monkeypatch.setattr(rebuilding, "_command", lambda known: [sys.executable, "-c", CODE[known]])


def test_what_is_printed_comes_in_the_order_of_the_runs_with_who_failed():
    found = list(rebuilding.rebuild_side_by_side([SLOW, WRONG, QUICK]))
    assert found == [("slow\n", True), ("wrong\n", False), ("quick\n", True)]


def test_nothing_goes_on_after_an_interrupt(monkeypatch):
    monkeypatch.setitem(CODE, SLOW, "import time; print('x'); time.sleep(60)")
    outcomes = rebuilding.rebuild_side_by_side([QUICK, SLOW])
    assert next(outcomes) == ("quick\n", True)
    with pytest.raises(KeyboardInterrupt):
        outcomes.throw(KeyboardInterrupt)
    until = time.monotonic() + 10
    while sleeping() and time.monotonic() < until:
        time.sleep(0.05)
    assert sleeping() == []


def sleeping():
    """The children of this process that were to sleep for long."""
    return [child for child in psutil.Process().children() if "time.sleep(60)" in " ".join(child.cmdline())]
