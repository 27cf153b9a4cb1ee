"""Two `./wrkbook serve` beside each other."""

import re
import signal
import subprocess
import sys
import urllib.request

import pytest

from runners.core.project import PROJECT

pytestmark = pytest.mark.servers


def url_of(process):
    """Where a served server listens, from the line that says that it is there; empty when it ended."""
    found = (re.search(r"http://[0-9.:]+", line) for line in iter(process.stdout.readline, ""))
    return next((match[0] for match in found if match), "")


def test_two_servers_with_a_database_each_are_served_although_they_start_at_the_same_moment():
    command = [sys.executable, "-m", "runners", "serve"]
    both = [
        subprocess.Popen([*command, name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=PROJECT)
        for name in ("gin", "drogon")
    ]
    try:
        urls = [url_of(process) for process in both]
        assert len(set(urls) - {""}) == 2
        for url in urls:
            assert urllib.request.urlopen(f"{url}/sql1", timeout=10).status == 200
    finally:
        for process in both:
            process.send_signal(signal.SIGINT)
        ended = [process.wait(30) for process in both]
    assert ended == [0, 0]
