"""Real runs in folders of their own, so that they stay apart from the user's."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from runners.analyse.checks.conditions import DISTURBANCES
from runners.core.project import PROJECT
from tests.conftest import FULL
from tests.e2e.browser import browser

# Parameters that keep a run of each notebook short; the full form of the tests measures with the notebooks' own.
SHORT = {
    "00-machine": {"systems": "haproxy-return,gin", "max_blocks": 1},
    "01-ping": {"systems": "gin", "batch_sizes": 1, "max_blocks": 2, "slices": 0},
    "02-json-decode": {"systems": "drogon+simdjson,gin+encoding/json", "batch_sizes": 10, "max_blocks": 2},
    "03-json-roundtrip": {"systems": "drogon+simdjson", "batch_sizes": 1, "max_blocks": 2},
    "04-text-json-sql": {"systems": "net-http", "counts": 20, "max_blocks": 1},
}
if not FULL:  # 00 loads with autocannon, too
    SHORT["04-text-json-sql"]["generators"] = "wrk"
# The full form runs these, too: 01 is executed by papermill, by hand and with an interrupt; 03 is 02 with an encoder behind it.
_FULL_FORM_ONLY = {"01-ping", "03-json-roundtrip"}
EXPERIMENTS = tuple(name for name in SHORT if FULL or name not in _FULL_FORM_ONLY)


def quick(experiment):
    """Return the words of the command line that run `experiment` as the fixture ``quick_run`` did."""
    short = {} if FULL and experiment != "04-text-json-sql" else SHORT[experiment]
    given = [word for name, value in short.items() for word in ("-p", name, str(value))]
    return ["run", experiment, "--profile", "quick", "--run-id", "e2e", *given]


_BUSY_MACHINE = re.compile(rf"all trials are void \((?:(?:{'|'.join(DISTURBANCES)}): [^;]*(?:; |\)))+")
_TRIES = 3


def wrkbook(*arguments, data=None, timeout=600):
    """Run the command line as a user does; its data go to `data`. Where the machine was too busy to measure, once more, as it advises."""
    env = {**os.environ, **({"WRKBOOK_DATA": str(data)} if data else {})}
    for _ in range(_TRIES):
        outcome = subprocess.run(
            [PROJECT / "wrkbook", *arguments], capture_output=True, text=True, env=env, timeout=timeout
        )
        if not _BUSY_MACHINE.search(outcome.stderr):
            break
    return outcome


@pytest.fixture(scope="session")
def quick_run(tmp_path_factory):
    """The notebooks, executed in the quick profile by the command line."""
    data = tmp_path_factory.mktemp("data")
    outcomes = [wrkbook(*quick(name), data=data, timeout=1200) for name in EXPERIMENTS]
    told = ["".join(getattr(outcome, stream) for outcome in outcomes) for stream in ("stdout", "stderr")]
    return data, subprocess.CompletedProcess([], max(outcome.returncode for outcome in outcomes), *told)


@pytest.fixture(scope="module")  # Playwright can be started once at a time
def page_of(tmp_path_factory, quick_run):
    """A function that opens a file below the run's processed data in Chromium."""
    data, _ = quick_run
    with browser(data / "processed", tmp_path_factory.mktemp("browser")) as chromium:

        def open_page(path: Path, width: int = 1366):
            page = chromium.new_page(viewport={"width": width, "height": 900})
            page.told, page.requested = [], []
            page.on("console", lambda message: page.told.append(message.text))
            page.on("pageerror", lambda error: page.told.append(str(error)))
            page.on("request", lambda request: page.requested.append(request.url))
            page.goto(f"file:///src/{path}")
            return page

        yield open_page
