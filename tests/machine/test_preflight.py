"""The preflight on machines of many kinds, faked as folders, and on garbled ones."""

import os
import shutil
import time
from collections import namedtuple
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from hypothesis import given, strategies as st

from runners.core.units import PERCENT, amount
from runners.machine import preflight as activity, processor, resources
from runners.machine.facts import numbers_in
from runners.machine.preflight import Activity, measured_cpus, parse_cpu_ticks, preflight
from runners.machine.resources import listened_on
from runners.machine.topology import Core
from runners.measure.this_machine import usable_cores

PORTS = range(18080, 18130)
CPU = "sys/devices/system/cpu"


def plain(count):
    return [Core((cpu,)) for cpu in range(count)]


@pytest.fixture
def machine(tmp_path):
    """A function that writes the files of a faked machine and returns its root."""

    def write(files):
        for name, content in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else f"{content}\n".encode())
        return tmp_path

    return write


def levels(findings):
    return {finding.name: finding.level for finding in findings}


# The CPUs


@pytest.mark.parametrize(
    ("cores", "level", "told"),
    [
        ([], "problem", "0 usable CPU(s)"),
        (plain(1), "problem", "1 usable CPU(s)"),
        ([Core((0, 1))], "advice", "execution units of one core"),
        (plain(2), "advice", "share CPU 1 with the load generator"),
        (plain(3), "good", "3 usable CPUs on 3 cores: every role has its own"),
        ([Core((0, 4)), Core((1, 5)), Core((2, 6))], "good", "6 usable CPUs on 3 cores"),
    ],
)
def test_it_says_whether_every_role_has_cpus_of_its_own(cores, level, told):
    finding = processor.cpus(cores)
    assert (finding.level, bool(finding.remedy)) == (level, level != "good")
    assert told in finding.detail


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": "150000 100000"}, "1.5 CPUs"),
        # A container without a cgroup namespace sees the host's path, which is not there.
        ({"proc/self/cgroup": "0::/docker/abc", "sys/fs/cgroup/cpu.max": "200000 100000"}, "2 CPUs"),
        # The tightest of the group and those above it counts.
        (
            {
                "proc/self/cgroup": "0::/a/b",
                "sys/fs/cgroup/a/cpu.max": "50000 100000",
                "sys/fs/cgroup/a/b/cpu.max": "300000 100000",
            },
            "0.5 CPUs",
        ),
        (
            {
                "proc/self/cgroup": "3:cpuset:/\n2:cpu,cpuacct:/box",
                "sys/fs/cgroup/cpu/box/cpu.cfs_quota_us": "100000",
                "sys/fs/cgroup/cpu/box/cpu.cfs_period_us": "50000",
            },
            "2 CPUs",
        ),
    ],
)
def test_a_quota_of_cpu_time_is_found_in_both_versions_of_cgroups(machine, files, told):
    finding = processor.quota(machine(files))
    assert finding.level == "advice"
    assert told in finding.detail
    assert "--cpuset-cpus" in finding.remedy


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": "max 100000"},
        {"proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": "100000 0"},
        {"proc/self/cgroup": "0::/../..", "sys/fs/cgroup/cpu.max": "1 100000"},
        {
            "proc/self/cgroup": "1:cpu:/",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "1",
        },
        {"proc/self/cgroup": "5:memory:/", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "1", "sys/fs/cgroup/cpu.max": "1 9"},
    ],
)
def test_without_a_quota_none_is_claimed(machine, files):
    assert processor.quota(machine(files)).level == "good"


def test_a_governor_that_follows_the_load_is_to_be_changed_and_can_be_changed_back(machine):
    root = machine(
        {
            f"{CPU}/cpu0/cpufreq/scaling_governor": "performance",
            f"{CPU}/cpu1/cpufreq/scaling_governor": "schedutil",
            f"{CPU}/cpu2/cpufreq/scaling_governor": "powersave",
        }
    )
    finding = processor.governor(root, [0, 1])
    assert finding.level == "advice"
    assert "schedutil" in finding.detail
    assert "powersave" not in finding.detail  # CPU 2 is not measured
    assert "echo performance | sudo tee" in finding.remedy
    assert "undo: echo schedutil | sudo tee" in finding.remedy
    assert processor.governor(root, [0]).level == "good"
    assert "not exposed" in processor.governor(root, [7]).detail


@pytest.mark.parametrize(
    ("files", "level", "remedy"),
    [
        ({f"{CPU}/intel_pstate/no_turbo": "0"}, "advice", f"echo 1 | sudo tee /{CPU}/intel_pstate/no_turbo"),
        ({f"{CPU}/intel_pstate/no_turbo": "1"}, "good", ""),
        ({f"{CPU}/cpufreq/boost": "1"}, "advice", f"echo 0 | sudo tee /{CPU}/cpufreq/boost"),
        ({f"{CPU}/cpufreq/boost": "0"}, "good", ""),
        ({f"{CPU}/intel_pstate/no_turbo": "perhaps", f"{CPU}/cpufreq/boost": "1"}, "advice", "echo 0 | sudo tee"),
        ({f"{CPU}/intel_pstate/no_turbo": "perhaps"}, "good", ""),
        ({}, "good", ""),
    ],
)
def test_turbo_is_switched_off_by_the_file_that_this_kernel_has(machine, files, level, remedy):
    finding = processor.boost(machine(files))
    assert finding.level == level
    assert finding.remedy.startswith(remedy)
    assert ("undo:" in finding.remedy) == (level == "advice")


@pytest.mark.parametrize(
    ("state", "cores", "level", "told"),
    [
        ("on", 4, "advice", "depends on the other"),
        ("on", 2, "good", "needed with 2 cores"),
        ("off", 4, "good", "off"),
        ("forceoff", 4, "good", "off"),
        ("notsupported", 4, "good", "not supported"),
        ("", 4, "good", "not exposed"),
        ("\x00\x01", 4, "good", "not exposed"),
    ],
)
def test_smt_is_advised_against_only_where_there_are_cores_enough(machine, state, cores, level, told):
    finding = processor.smt(machine({f"{CPU}/smt/control": state}), plain(cores))
    assert finding.level == level
    assert told in finding.detail
    assert ("echo off" in finding.remedy) == (level == "advice")


@pytest.mark.parametrize(
    ("files", "level", "told"),
    [
        ({"proc/cpuinfo": "flags : fpu hypervisor sse"}, "advice", "yes"),
        (
            {"proc/cpuinfo": "flags : hypervisor", "sys/devices/virtual/dmi/id/sys_vendor": "QEMU"},
            "advice",
            "yes (QEMU)",
        ),
        ({"proc/cpuinfo": "flags : fpu sse"}, "good", "none to be seen"),
        ({}, "good", "not exposed"),
    ],
)
def test_a_virtual_machine_is_said_to_be_one(machine, files, level, told):
    finding = processor.virtual_machine(machine(files))
    assert finding.level == level
    assert told in finding.detail


@pytest.mark.parametrize(
    ("counts", "level", "told"),
    [
        (["0", "0"], "good", "never"),
        (["3", "12"], "advice", "up to 12 times"),
        (["x", "5"], "advice", "up to 5 times"),
        (["x", ""], "good", "not exposed"),
        ([], "good", "not exposed"),
    ],
)
def test_throttling_is_counted_over_all_cpus(machine, counts, level, told):
    files = {f"{CPU}/cpu{n}/thermal_throttle/core_throttle_count": text for n, text in enumerate(counts)}
    finding = processor.throttling(machine(files))
    assert finding.level == level
    assert told in finding.detail


@pytest.mark.parametrize(
    ("nodes", "measured", "level", "told"),
    [
        ([0, 0], (0, 1), "good", "one node"),
        ([0, 0, 1, 1], (2, 3), "good", "stay on node 1"),
        ([0, 0, 1, 1], (1, 2), "advice", "on the nodes 0, 1"),
    ],
)
def test_measuring_across_numa_nodes_is_advised_against(nodes, measured, level, told):
    finding = processor.numa([Core((cpu,), node) for cpu, node in enumerate(nodes)], measured)
    assert finding.level == level
    assert told in finding.detail


@pytest.mark.parametrize(
    ("shares", "level", "told"),
    [
        ({0: 0.99, 1: 0.90}, "good", "CPU 0: 99.0 %, CPU 1: 90.0 %"),
        ({0: 0.99, 1: 0.89}, "advice", "CPU 1: 89.0 %"),
        ({}, "good", "not exposed"),
    ],
)
def test_a_cpu_that_is_often_slower_than_its_best_is_told(shares, level, told):
    finding = processor.speed(shares)
    assert finding.level == level
    assert told in finding.detail


# What else happens on the CPUs


def seen(at_s=0.0, processes=None, **ticks):
    return Activity(at_s, {int(name[3:]): value for name, value in ticks.items()}, processes or {})


IDLE = (0, 0, 0, 0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("stolen", "level"),
    [(0, "good"), (2, "good"), (3, "advice")],
)
def test_steal_above_two_percent_of_the_measured_cpus_is_told(stolen, level):
    after = seen(1.0, cpu0=(0, 0, 0, 100 - stolen, 0, 0, 0, stolen), cpu1=(0, 0, 0, 0, 0, 0, 0, 100))
    finding = activity.steal(seen(cpu0=IDLE, cpu1=IDLE), after, [0])
    assert finding.level == level
    assert amount(stolen / 100, PERCENT) in finding.detail


@pytest.mark.parametrize("field", range(8))
def test_waiting_and_steal_are_no_load_and_all_other_work_is(field):
    spent = tuple(100 if number == field else 0 for number in range(8))
    finding = activity.other_load(seen(cpu0=IDLE), seen(1.0, cpu0=spent), [0])
    assert finding.level == ("good" if field in (3, 4, 7) else "advice")


def test_the_busiest_processes_are_named_by_what_they_used_in_the_interval():
    before = seen(10.0, {(1, 0.0): ("old", 500.0), (2, 0.0): ("editor", 1.0), (4, 0.0): ("gone", 9.0)}, cpu0=IDLE)
    after = seen(
        12.0,
        {
            (1, 0.0): ("renamed", 500.0),
            (2, 0.0): ("editor", 2.0),
            (3, 11.0): ("new", 0.5),
            (4, 11.0): ("pid-again", 0.1),
        },
        cpu0=(100, 0, 0, 100, 0, 0, 0, 0),
    )
    finding = activity.other_load(before, after, [0])
    assert "50.0 % of the time of CPU 0" in finding.detail
    assert finding.detail.endswith(
        "editor (pid 2, 50.0 % of a CPU), new (pid 3, 25.0 % of a CPU), pid-again (pid 4, 5.00 % of a CPU)"
    )


def test_load_on_a_cpu_that_is_not_measured_does_not_count():
    before, after = seen(cpu0=IDLE, cpu1=IDLE), seen(1.0, cpu0=(0, 0, 0, 100, 0, 0, 0, 0), cpu1=(100, *IDLE[1:]))
    assert activity.other_load(before, after, [0]).level == "good"
    assert "of CPU 1: 100 %" in activity.other_load(before, after, [0, 1]).detail


def test_a_counter_that_goes_backwards_is_no_negative_load():
    before, after = seen(cpu0=(0, 0, 0, 0, 50, 0, 0, 0)), seen(1.0, cpu0=(10, 0, 0, 90, 0, 0, 0, 0))
    assert "10.0 %" in activity.other_load(before, after, [0]).detail


@pytest.mark.parametrize("finding_of", [activity.steal, activity.other_load])
def test_cpus_that_are_not_counted_are_not_exposed(finding_of):
    for before, after in ((seen(), seen()), (seen(cpu0=IDLE), seen(cpu0=IDLE)), (seen(cpu1=IDLE), seen(cpu1=(9,) * 8))):
        finding = finding_of(before, after, [0])
        assert (finding.level, "not exposed" in finding.detail) == ("good", True)


def test_a_busy_process_is_seen_with_its_name_and_this_one_is_not(monkeypatch):
    times = namedtuple("times", "user system")
    listed = [
        SimpleNamespace(pid=os.getpid(), info={"name": "me", "cpu_times": times(9, 9), "create_time": 1.0}),
        SimpleNamespace(pid=0, info={"name": "a\x1b[31mb", "cpu_times": times(1, 2), "create_time": 1.0}),
        SimpleNamespace(pid=2**22 + 1, info={"name": None, "cpu_times": None, "create_time": None}),
    ]
    monkeypatch.setattr(psutil, "process_iter", lambda _: listed)
    before, _ = activity.watch(Path("/nowhere"), 0.0)
    assert before.processes == {(0, 1.0): ("a?[31mb", 3)}
    assert before.cpus == {}


def test_the_interval_is_the_one_that_was_requested(monkeypatch, tmp_path):
    slept = []
    monkeypatch.setattr(time, "sleep", slept.append)
    activity.watch(tmp_path, 0.7)
    assert slept == [0.7]


@given(st.dictionaries(st.integers(0, 4096), st.tuples(*[st.integers(0, 2**63)] * 8), max_size=8))
def test_ticks_are_read_as_the_kernel_writes_them(ticks):
    lines = ["cpu  " + " ".join("1" * 10)]
    lines += [f"cpu{cpu} " + " ".join(map(str, (*values, 0, 0))) for cpu, values in ticks.items()]
    assert parse_cpu_ticks("\n".join([*lines, "intr 5 6", "ctxt 7"])) == ticks


@given(st.text())
def test_no_text_is_too_odd_for_ticks_and_sockets(text):
    for garbled in (text, f"cpu0 {text}", f"cpu{text} 1 2 3 4 5 6 7 8", f"0: {text} x 0A y", f"0: A:{text} x 0A"):
        parse_cpu_ticks(garbled)
        listened_on(garbled)


# What the kernel grants


def meminfo(available_kib, total_kib=0, free_kib=0):
    return {"proc/meminfo": f"MemAvailable: {available_kib} kB\nSwapTotal: {total_kib} kB\nSwapFree: {free_kib} kB"}


@pytest.mark.parametrize(
    ("available_kib", "level"),
    [(2 * 2**20, "good"), (2 * 2**20 - 1, "advice"), (256 * 2**10, "advice"), (256 * 2**10 - 1, "problem")],
)
def test_memory_is_enough_or_little_or_too_little(machine, available_kib, level):
    assert resources.memory(machine(meminfo(available_kib))).level == level


@pytest.mark.parametrize(
    ("sizes", "level", "told", "remedy"),
    [
        ((1000, 0, 0), "good", "none", ""),
        ((1000, 500, 500), "good", "none of it in use", ""),
        ((1000, 500, 400), "advice", "100 KiB of 500 KiB", "sudo swapoff -a   (undo: sudo swapon -a)"),
        ((50, 500, 400), "advice", "100 KiB of 500 KiB", "would not fit"),
        ((1000, 500, 600), "good", "none of it in use", ""),
    ],
)
def test_swap_is_to_be_emptied_only_where_it_fits_into_memory(machine, sizes, level, told, remedy):
    finding = resources.swap(machine(meminfo(*sizes)))
    assert finding.level == level
    assert told in finding.detail
    assert remedy in finding.remedy


@pytest.mark.parametrize("subject", [resources.memory, resources.swap])
def test_sizes_that_cannot_be_read_are_not_exposed(machine, subject):
    root = machine({"proc/meminfo": b"MemAvailable: \xff kB\nSwapTotal: much\n"})
    assert subject(root).level == "good"
    assert "not exposed" in subject(root).detail


@pytest.mark.parametrize(
    ("limit", "level", "told"),
    [
        (-1, "good", "no limit"),
        (20_100, "good", "room for 20000 connections, 10000 through a proxy"),
        (20_099, "advice", "19999 connections, 9999 through a proxy; 20000 do not fit"),
        (10_099, "advice", "10000 and 20000 do not fit"),
        (180, "advice", "room for 80"),
        (179, "problem", "room for 79"),
        (0, "problem", "room for 0"),
    ],
)
def test_it_says_how_many_connections_fit_into_the_open_files(tmp_path, limit, level, told):
    finding = resources.open_files(tmp_path, limit)
    assert finding.level == level
    assert told in finding.detail
    assert ("hard nofile 65536" in finding.remedy) == (level != "good")


@pytest.mark.parametrize(("ceiling", "raised"), [("1048576", False), ("4096", True), ("?", False)])
def test_the_kernel_s_own_ceiling_is_raised_first_where_it_is_lower(machine, ceiling, raised):
    finding = resources.open_files(machine({"proc/sys/fs/nr_open": ceiling}), 1024)
    assert ("sysctl -w fs.nr_open=65536" in finding.remedy) == raised


@pytest.mark.parametrize(
    ("limits", "level", "told"),
    [
        ("32768\t60999", "good", "28232"),
        ("40000\t59999", "good", "20000"),
        ("40001\t59999", "advice", "20000 do not fit, 10000 fit"),
        ("60000\t60999", "advice", "10000 do not fit either"),
        ("1024\t65535", "advice", "a port on which wrkbook's servers listen (18080 to 18129)"),
        ("1024\t18079", "advice", "20000 do not fit"),
        ("18130\t65535", "good", "47406"),
        ("60999\t32768", "good", "not exposed"),
        ("0\t70000", "good", "not exposed"),
        ("many", "good", "not exposed"),
        ("", "good", "not exposed"),
    ],
)
def test_the_ports_of_clients_are_enough_and_apart_from_the_servers(machine, limits, level, told):
    finding = resources.ports(machine({"proc/sys/net/ipv4/ip_local_port_range": limits}), PORTS)
    assert finding.level == level
    assert told in finding.detail
    if level == "advice":
        assert f'undo: sudo sysctl -w net.ipv4.ip_local_port_range="{limits.replace(chr(9), " ")}"' in finding.remedy


def test_the_advised_ports_are_good(machine):
    before = resources.ports(machine({"proc/sys/net/ipv4/ip_local_port_range": "1024 65535"}), PORTS)
    advised = before.remedy.split('"')[1]
    assert resources.ports(machine({"proc/sys/net/ipv4/ip_local_port_range": advised}), PORTS).level == "good"


@pytest.mark.parametrize(
    ("sockstat", "level", "told"),
    [
        ("TCP: inuse 170 orphan 0 tw 100 alloc 170 mem 349", "good", "100 still"),
        ("sockets: used 2\nTCP: inuse 1 orphan 0 tw 101 alloc 1\nTCP6: inuse 0", "advice", "101 still"),
        ("TCP: inuse 170", "good", "not exposed"),
        ("TCP: tw", "good", "not exposed"),
        ("UDP: x tw 5000", "good", "not exposed"),
        ("", "good", "not exposed"),
    ],
)
def test_many_closed_connections_that_hold_a_port_are_told(machine, sockstat, level, told):
    files = {"proc/net/sockstat": sockstat, "proc/sys/net/ipv4/ip_local_port_range": "1001 2000"}
    finding = resources.waiting_sockets(machine(files))
    assert finding.level == level
    assert told in finding.detail


HEADER = "  sl  local_address rem_address   st tx_queue rx_queue\n"


def row(port, state="0A", address="0100007F"):
    return f"   0: {address}:{port:04X} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000  0 0 1\n"


@pytest.mark.parametrize(
    ("tcp", "tcp6", "level", "told"),
    [
        (HEADER, HEADER, "good", "18080 to 18129 are free"),
        (HEADER + row(18080) + row(80), HEADER, "advice", "listens on 18080 "),
        (HEADER, HEADER + row(18129, address="0" * 32), "advice", "listens on 18129 "),
        (HEADER + row(18079) + row(18130), HEADER, "good", "free"),
        (HEADER + row(18080, state="01") + row(18081, state="06"), HEADER, "good", "free"),
        (HEADER + row(18081) + row(18080), HEADER + row(18080), "advice", "listens on 18080, 18081 "),
        ("", "", "good", "not exposed"),
    ],
)
def test_somebody_on_the_servers_ports_is_found(machine, tcp, tcp6, level, told):
    finding = resources.server_ports_taken(machine({"proc/net/tcp": tcp, "proc/net/tcp6": tcp6}), PORTS)
    assert finding.level == level
    assert told in finding.detail


@given(st.sets(st.integers(0, 65535)), st.sets(st.integers(0, 65535)))
def test_only_listening_sockets_are_listened_on(listening, connected):
    table = HEADER + "".join(map(row, listening)) + "".join(row(port, state="01") for port in connected)
    assert listened_on(table) == listening


@pytest.mark.parametrize(("free_bytes", "level"), [(1000, "good"), (999, "advice"), (100, "advice"), (99, "problem")])
def test_space_on_disk_is_enough_or_little_or_too_little(tmp_path, monkeypatch, free_bytes, level):
    paths = []
    monkeypatch.setattr(shutil, "disk_usage", lambda path: paths.append(path) or SimpleNamespace(free=free_bytes))
    finding = resources.disk("disk", tmp_path / "not/there/yet", 100, 1000)
    assert finding.level == level
    assert bool(finding.remedy) == (level != "good")
    assert paths == [tmp_path]


def test_a_folder_that_may_not_be_written_is_a_problem(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    finding = resources.disk("disk", tmp_path, 0, 0)
    assert finding.level == "problem"
    assert "chown" in finding.remedy


# All of it


@given(st.text())
def test_numbers_are_read_or_not_but_never_half(text):
    found = numbers_in(text)
    assert found == [] or found == [int(word) for word in text.split()]


FILES = [
    *(f"proc/{name}" for name in ("stat", "meminfo", "cpuinfo", "self/cgroup", "net/tcp", "net/tcp6", "net/sockstat")),
    *("proc/sys/net/ipv4/ip_local_port_range", "proc/sys/fs/nr_open", "sys/fs/cgroup/cpu.max"),
    *(f"{CPU}/{name}" for name in ("intel_pstate/no_turbo", "cpufreq/boost", "smt/control")),
    *(f"{CPU}/cpu0/{name}" for name in ("cpufreq/scaling_governor", "thermal_throttle/core_throttle_count")),
]
GARBLED = [
    b"",
    b"\xff\xfe\x00",
    b"-1 -1\n",
    b"9" * 5000,
    b"cpu0 1 2\nTCP: tw x\n0: :: : 0A\n0::\n::::\n",
    b"0::/a\x00b\n",
]


@pytest.mark.parametrize("content", GARBLED)
def test_a_garbled_machine_is_no_error(machine, tmp_path, content):
    root = machine(dict.fromkeys(FILES, content))
    findings = preflight(plain(4), tmp_path, PORTS, root=root, interval_s=0.0)
    assert "problem" not in {
        finding.level for finding in findings if finding.name not in ("open files", "disk for records")
    }
    assert all(finding.detail.isprintable() for finding in findings)


def test_a_machine_that_exposes_nothing_is_good_in_all_that_it_does_not_tell(tmp_path):
    findings = preflight(plain(4), tmp_path, PORTS, root=tmp_path, interval_s=0.0)
    silent = {finding.name for finding in findings if "not exposed" in finding.detail}
    assert {
        "steal",
        "other load",
        "memory",
        "swap",
        "turbo",
        "SMT",
        "frequency governor",
        "ports for servers",
    } <= silent
    assert all(finding.level == "good" and not finding.remedy for finding in findings if finding.name in silent)


def test_files_that_are_folders_are_not_exposed(tmp_path):
    for name in FILES:
        (tmp_path / name).mkdir(parents=True)
    assert levels(preflight(plain(4), tmp_path, PORTS, root=tmp_path, interval_s=0.0))["memory"] == "good"


def test_this_machine_gets_one_finding_for_each_subject_and_a_remedy_wherever_something_is_to_be_done(tmp_path):
    findings = preflight(usable_cores(), tmp_path, PORTS, interval_s=0.1)
    assert len(levels(findings)) == len(findings) == 17
    assert all(bool(finding.remedy) == (finding.level != "good") for finding in findings)
    for name in ("steal", "other load", "memory", "ports for servers"):
        assert "not exposed" not in next(finding.detail for finding in findings if finding.name == name)


@pytest.mark.parametrize(("cores", "measured"), [(plain(4), (0, 1, 2)), (plain(1), (0,)), ([], ())])
def test_the_measured_cpus_are_those_of_servers_and_generator(cores, measured):
    assert measured_cpus(cores) == measured
