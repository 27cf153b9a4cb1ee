"""Real runs in folders of their own, so that they stay apart from the user's."""

import os
import subprocess
from pathlib import Path

import pytest

from runners.folders import PROJECT
from tests.e2e.browser import browser

EXPERIMENTS = ("00-machine", "01-ping", "02-json-decode", "03-json-roundtrip")


def wrkbook(*arguments, data=None, timeout=600):
    """Run the command line as a user does; its data go to `data`."""
    env = {**os.environ, **({"WRKBOOK_DATA": str(data)} if data else {})}
    return subprocess.run([PROJECT / "wrkbook", *arguments], capture_output=True, text=True, env=env, timeout=timeout)


@pytest.fixture(scope="session")
def quick_run(tmp_path_factory):
    """The notebooks, executed in the quick profile by the command line."""
    data = tmp_path_factory.mktemp("data")
    outcome = wrkbook("run", *EXPERIMENTS, "--profile", "quick", "--run-id", "e2e", data=data, timeout=1200)
    return data, outcome


@pytest.fixture(scope="session")
def page_of(tmp_path_factory, quick_run):
    """A function that opens a file below the run's processed data in Chromium."""
    data, _ = quick_run
    with browser(data / "processed", tmp_path_factory.mktemp("browser")) as chromium:

        def open_page(path: Path, width: int = 1366):
            page = chromium.new_page(viewport={"width": width, "height": 900})
            page.told, page.asked = [], []
            page.on("console", lambda message: page.told.append(message.text))
            page.on("pageerror", lambda error: page.told.append(str(error)))
            page.on("request", lambda request: page.asked.append(request.url))
            page.goto(f"file:///src/{path}")
            return page

        yield open_page
