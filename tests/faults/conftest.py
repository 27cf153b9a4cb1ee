"""What the tests of faults share: a cache with locks of its own, and the time that an undisturbed run takes."""

import time

import pytest

pytest.register_assert_rewrite("tests.faults.harness", "tests.faults.blocks")

from tests.faults.harness import (  # noqa: E402
    SLICED,
    Observed,
    adopting_orphans,
    assert_records_are_sound,
    private_cache,
    run_command,
)


@pytest.fixture(autouse=True)
def _orphans():
    with adopting_orphans():
        yield


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """A cache whose locks are the tests' own."""
    return private_cache(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def undisturbed_s(tmp_path_factory, cache):
    """How long the small run takes when nothing happens to it."""
    data = tmp_path_factory.mktemp("undisturbed")
    with Observed(run_command(**SLICED), data, cache) as run:
        run.measured_well()
        assert_records_are_sound(data)
        return time.monotonic() - run.started
