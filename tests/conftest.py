"""Settings of all tests."""

import lzma
import os
import signal
from functools import partial

import pytest
from hypothesis import Phase, settings

from runners.cli.checks import FAULTS

FULL = FAULTS in os.environ
"""Whether this is the full form of the tests: ``./wrkbook test --faults``."""

# The machine may be busy: how long an example takes says nothing about whether it is right.
settings.register_profile("wrkbook", deadline=None, max_examples=100 if FULL else 25)
settings.load_profile("wrkbook")


def examples(count: int, **more: object) -> settings:
    """Return the settings of a property with slow examples: so many of them, in the full form ten times as many.

    Only the full form makes a failing example smaller: that takes minutes.
    """
    quick = {} if FULL else {"phases": [Phase.explicit, Phase.reuse, Phase.generate]}
    return settings(max_examples=10 * count if FULL else count, **quick, **more)


def pytest_configure():
    """Take Ctrl-C as in the foreground: what a script starts in the background ignores it, and so would all that the tests start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    """Let the tests of servers and notebooks begin first: they take long and wait often, so that unit tests fill the gaps.

    The cases marked `full` are for the full form.
    """
    for item in items:
        if "full" in item.keywords and not FULL:
            item.add_marker(pytest.mark.skip(reason="full form only: ./wrkbook test --faults"))
    items.sort(key=lambda item: not any(item.get_closest_marker(name) for name in ("e2e", "servers")))


@pytest.fixture(scope="session", autouse=True)
def _records_for_seconds():
    """Write records without waiting for the disk and with the fastest compression: tests read them at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        patch.setattr(lzma, "compress", partial(lzma.compress, preset=0))
        yield
