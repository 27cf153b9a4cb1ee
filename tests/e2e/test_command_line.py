"""The command line as a user types it, where nothing is measured: wrong input, and a server to look at."""

import os
import signal
import subprocess
import sys

import pytest

from runners.core.project import NOTEBOOKS, PROJECT
from tests.e2e.conftest import wrkbook

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["02", "-p", "profil", "quick"], "unknown parameter profil (did you mean profile?)"),
        (["02", "-p", "batch_sizes", "0"], "0 is not from 1 to 4096"),
        (["02", "-p", "connections", "many"], "parameter connections"),
        (["02", "-p", "connections", "50000"], "limit of"),
        (["02", "-p", "systems", "drogn"], "no system named 'drogn'"),
        (["02", "-p", "server_cpus", "0", "-p", "generator_cpus", "0"], "overlap on CPU 0"),
        (["02", "-p", "server_cpus", "977"], "CPU 977 does not exist"),
        (["99-none"], "no notebook named '99-none'"),
        (["02", "--run-id", "../../x"], "cannot be a run-id"),
    ],
)
def test_bad_input_is_named_with_a_remedy_and_leaves_nothing(tmp_path, arguments, told):
    outcome = wrkbook("run", "--profile", "quick", *arguments, data=tmp_path)
    assert outcome.returncode != 0
    assert told in outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_wrong_parameter_given_to_papermill_alone_is_an_error_too(tmp_path):
    command = [
        sys.executable,
        "-m",
        "papermill",
        NOTEBOOKS / "02-json-decode.ipynb",
        tmp_path / "out.ipynb",
        "-p",
        "profil",
        "quick",
    ]
    env = {**os.environ, "WRKBOOK_DATA": str(tmp_path)}
    outcome = subprocess.run(command, capture_output=True, text=True, env=env, cwd=PROJECT, timeout=120)
    assert outcome.returncode != 0
    assert "unknown parameter profil" in outcome.stderr


def test_serve_prints_its_url_and_paths_and_ends_cleanly(tmp_path):
    import httpx

    from tests.free_ports import free_ports

    (port,) = free_ports(1, 19500)
    process = subprocess.Popen(
        [PROJECT / "wrkbook", "serve", "gin", "--port", str(port)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    # The first line may be about what runs behind it.
    assert any(f"http://127.0.0.1:{port}" in line for line in iter(process.stdout.readline, ""))
    assert httpx.get(f"http://127.0.0.1:{port}/ping").text == "Hello, World!"
    busy = wrkbook("serve", "beast", "--port", str(port))
    assert busy.returncode == 1
    assert f"port {port} is in use" in busy.stderr
    process.send_signal(signal.SIGTERM)
    output = process.stdout.read()
    assert process.wait(10) == 0
    assert "/dbopjson/{db}/{table}" in output
