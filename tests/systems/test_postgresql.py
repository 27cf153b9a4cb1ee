"""The database behind the servers: what it gives, to whom, how it is counted, and that nothing of it stays."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from runners.core.errors import WrkbookError
from runners.core.project import PROJECT
from runners.machine.pinning import plan_pinning
from runners.measure.conformance import build_all
from runners.measure.sampling import role_sample, total_cpu_s
from runners.measure.this_machine import usable_cores
from runners.systems.backend import Backend, backends_of, work_between
from runners.systems.catalogue import Catalogue
from runners.systems.server_manifest import load_server
from runners.systems.sockets import FIRST_PORT, is_free
from tests.free_ports import free_ports
from tests.systems.seen import ended_cpu_s, listening_addresses

pytestmark = pytest.mark.servers
SQL1 = "SELECT CAST(now() AS VARCHAR);\n"
SELECT = "SELECT id, number, name FROM record WHERE id = ANY($1)"
SQL2 = f"{SELECT} \\bind '{{3,1,9999}}' \\g\n"
TOY = """
title = "Toy"
language = "C"
role = "origin"
[start]
command = ["/build/server", "{port}", "{backend_port}"]
[[serves]]
workload = "sql1"
path = "/sql1"
backend = "postgresql"
"""


@pytest.fixture(scope="module")
def artifact():
    catalogue = Catalogue()
    return build_all(catalogue, [catalogue.server("postgresql")])["postgresql"]


@pytest.fixture(scope="module")
def new(artifact):
    """A function that makes a database on a free port; it is not launched yet."""

    def make(port=None):
        (free,) = free_ports(1, FIRST_PORT + 1500)
        return Backend(artifact, port or free, list(plan_pinning(usable_cores()).server))

    return make


@pytest.fixture(scope="module")
def database(new):
    with new() as process:
        yield process


def client(process, user="bench"):
    words = [
        "psql",
        "--no-psqlrc",
        "--quiet",
        "--no-align",
        "--tuples-only",
        "--set=ON_ERROR_STOP=1",
        "--host=127.0.0.1",
    ]
    return process.sandbox().command([*words, f"--port={process.port}", f"--username={user}", "--dbname=bench"])


def query(process, text, user="bench"):
    return subprocess.run(client(process, user), input=text, capture_output=True, text=True, timeout=60)


def connected(process):
    """A client that stays."""
    talking = subprocess.Popen(client(process), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
    talking.stdin.write("SELECT 1;\n")
    assert talking.stdout.readline() == "1\n"
    return talking


def gone(pids):
    deadline = time.monotonic() + 5
    while any(psutil.pid_exists(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not any(psutil.pid_exists(pid) for pid in pids)


def test_it_holds_ten_thousand_records_and_speaks_utc(database):
    assert (
        query(database, "SELECT count(*), min(id), max(id), count(DISTINCT id) FROM record;").stdout
        == "10000|1|10000|10000\n"
    )
    assert query(database, SQL1).stdout.strip().endswith("+00")
    assert [line.split("|")[0] for line in sorted(query(database, SQL2).stdout.splitlines())] == ["1", "3", "9999"]


def test_the_records_are_found_by_their_key(database):
    plan = query(database, f"PREPARE p AS {SELECT}; EXPLAIN EXECUTE p('{{1,2,3}}');").stdout
    assert "record_pkey" in plan


@pytest.mark.parametrize(
    "statement",
    ["UPDATE record SET number = 0;", "DELETE FROM record;", "CREATE TABLE t (i int);", "CREATE TEMP TABLE t (i int);"],
)
def test_the_servers_may_only_read(database, statement):
    assert "permission denied" in query(database, statement).stderr


def test_the_superuser_is_not_to_be_reached(database):
    assert "no pg_hba.conf entry" in query(database, "SELECT 1;", user="postgres").stderr


def test_the_counter_sees_no_records(database):
    assert "permission denied" in query(database, "SELECT * FROM record;", user="counter").stderr


def test_every_query_is_counted_once_under_its_kind_and_counting_is_not(database):
    before = database.work()
    query(database, SQL1 * 7 + SQL2 * 5 + "SET work_mem = '5MB';\nSELECT 1;\nSELECT 2;\n")
    database.work()
    work = work_between(before, database.work())
    assert work == {"sql1": (7, 7), "sql2": (5, 15), "other": (2, 2)}


def test_a_query_that_only_seems_alike_is_another_one(database):
    before = database.work()
    query(database, SQL1.replace("now()", "now() - interval '1 s'") + SQL2.replace("WHERE", "WHERE number > 0 AND"))
    assert work_between(before, database.work())["other"].calls == 2


def test_it_listens_on_loopback_only_with_all_its_processes_on_its_cpus(database):
    assert listening_addresses(database.port) == {"0100007F"}
    talking = connected(database)
    sample = role_sample(database.pids, database.cpus)
    assert sample.unpinned_threads == []
    assert sample.threads_count == len(database.pids) > 1
    talking.communicate()


def test_the_cpu_time_of_a_connection_that_is_closed_is_not_lost(database):
    before_s = total_cpu_s(database.pids) + ended_cpu_s(database)
    ended_s = ended_cpu_s(database)
    talking = connected(database)
    talking.stdin.write("SELECT count(*) FROM generate_series(1, 3000000);\n")
    talking.stdout.readline()
    used_s = total_cpu_s(database.pids) + ended_cpu_s(database) - before_s
    talking.communicate()
    deadline = time.monotonic() + 5
    while ended_cpu_s(database) == ended_s and time.monotonic() < deadline:
        time.sleep(0.02)
    # Clock ticks of 10 ms, two of which (user and system time) are cut off.
    assert total_cpu_s(database.pids) + ended_cpu_s(database) - before_s > used_s - 0.03
    assert ended_cpu_s(database) > ended_s


def test_two_at_once_do_not_know_of_each_other(database, new):
    with new() as second:
        assert second.port != database.port
        before = second.work()
        query(database, SQL1)
        assert second.work() == before


def test_a_port_in_use_is_refused_with_what_to_do(database, new):
    with pytest.raises(WrkbookError, match=f"port {database.port} is in use") as caught:
        new(database.port).launch()
    assert "another port" in caught.value.remedy


def test_it_ends_at_once_in_order_while_clients_are_connected_and_leaves_nothing(new):
    with new() as process:
        talking, pids = connected(process), process.pids
        assert process.end() == 0
        assert gone(pids)
        assert is_free(process.port)
        talking.communicate()


def test_killed_it_is_noticed_and_can_be_launched_again_on_its_port(new):
    with new() as process:
        pids = process.pids
        os.kill(process.first_pids[0], signal.SIGKILL)
        assert gone(pids)
        assert not process.alive
        with pytest.raises(WrkbookError, match="could not be counted"):
            process.work()
        process.end()
        process.launch()
        assert query(process, "SELECT count(*) FROM record;").stdout == "10000\n"


def test_nothing_of_it_outlives_a_wrkbook_that_is_killed(new):
    process = new()
    code = (
        "import sys, time; sys.path.insert(0, sys.argv[1])\n"
        "from tests.systems.test_postgresql import *\n"
        "catalogue = Catalogue(); built = build_all(catalogue, [catalogue.server('postgresql')])['postgresql']\n"
        "process = Backend(built, int(sys.argv[2]), [0]); process.launch()\n"
        "print(*process.pids, flush=True); time.sleep(60)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code, str(PROJECT), str(process.port)], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    assert pids
    assert not is_free(process.port)
    parent.kill()
    parent.wait()
    assert gone(pids)
    assert is_free(process.port)


def test_its_data_are_in_memory_and_no_folder_of_the_host(database):
    (first,) = database.first_pids
    mounts = [line.split() for line in Path(f"/proc/{first}/mountinfo").read_text().splitlines()]
    assert [fields[fields.index("-") + 1] for fields in mounts if fields[4] == "/data"] == ["tmpfs"]
    # Whatever else it may write to is no disk of the host's either.
    writable = {fields[fields.index("-") + 1] for fields in mounts if fields[5].startswith("rw")}
    assert writable <= {"tmpfs", "devtmpfs", "devpts", "proc"}


def test_whoever_needs_it_gets_it_launched_once_and_told_its_port(tmp_path, artifact):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "server.toml").write_text(TOY)
    servers = [load_server(tmp_path / name) for name in ("one", "two")]
    with backends_of(servers, artifact.image, [0]) as backends:
        (process,) = backends.values()
        assert {backends.port(server) for server in servers} == {process.port}
        assert process.work()["sql1"] == (0, 0)
    assert is_free(process.port)
    assert not process.alive
