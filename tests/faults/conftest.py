"""Short form and full form: ``./wrkbook test --faults`` runs the cases marked `full` too."""

import time

import pytest

from tests.conftest import FULL

pytest.register_assert_rewrite("tests.faults.harness", "tests.faults.blocks")

from tests.faults.harness import Observed, adopting_orphans, assert_records_are_sound, private_cache, run_command  # noqa: E402


def pytest_collection_modifyitems(items):
    for item in items:
        if "full" in item.keywords and not FULL:
            item.add_marker(pytest.mark.skip(reason="full form only: ./wrkbook test --faults"))


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
    with Observed(run_command(), data, cache) as run:
        run.measured_well()
        assert_records_are_sound(data)
        return time.monotonic() - run.started
