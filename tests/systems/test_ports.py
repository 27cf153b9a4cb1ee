"""Ports of the client's side: what is held, and what happens when the connections of a window find none."""

from pathlib import Path

import pytest

from runners.systems.host import Ports, client_ports, held_ports, wait_for_ports

SERVER = 18080
NARROW = Ports(40000, 40009, reuses=False)


def line(local, remote=SERVER, state="01", left_s=0.0):
    """A connection as /proc/net/tcp shows it, seen from the side with the port `local`."""
    timer = f"03:{round(left_s * 100):08X}" if state == "06" else "00:00000000"
    return (
        f"   0: 0100007F:{local:04X} 0100007F:{remote:04X} {state} 00000000:00000000 {timer} 00000000     0        0 1"
    )


def table(*lines):
    return "\n".join(["  sl  local_address rem_address   st tx_queue …", *lines, ""]).encode()


def test_only_the_clients_ports_towards_this_server_are_held():
    rows = [line(40000), line(40001, remote=18081), line(SERVER, remote=40000), line(50000), line(40002, state="02")]
    assert held_ports(table(*rows), SERVER, NARROW) == 2


@pytest.mark.parametrize(("reuses", "left_s", "held"), [(False, 10, 1), (True, 10, 0), (True, 59.5, 1), (True, 59, 0)])
def test_a_closed_connection_holds_its_port_for_a_minute_or_where_the_kernel_reuses_it_for_a_second(
    reuses, left_s, held
):
    rows = table(line(40003, state="06", left_s=left_s))
    assert held_ports(rows, SERVER, Ports(40000, 40009, reuses)) == held


@pytest.mark.parametrize("content", [b"", b"  sl  local_address\n", b"  sl\n   0: 0100007F:9C40\n"])
def test_tables_that_say_nothing_hold_nothing(content):
    assert held_ports(content, SERVER, NARROW) == 0


def test_a_window_whose_connections_find_a_port_each_is_not_kept_waiting(tmp_path):
    (tmp_path / "tcp").write_bytes(table(line(40000)))
    said = []
    tables = [tmp_path / "tcp", tmp_path / "missing"]
    assert wait_for_ports(SERVER, 9, tables=tables, ports=NARROW, told=said.append) == ""
    assert said == []


def test_what_never_fits_is_refused_at_once_with_the_setting_that_helps(tmp_path):
    said = []
    why = wait_for_ports(SERVER, 11, tables=[tmp_path / "none"], ports=NARROW, told=said.append)
    assert "11 connections do not find a port each: 0 of 10 are held" in why
    assert "net.ipv4.ip_local_port_range" in why
    assert said == []


def test_ports_that_stay_held_end_the_wait_which_is_announced_once(tmp_path):
    (tmp_path / "tcp").write_bytes(table(*(line(40000 + place) for place in range(5))))
    said = []
    why = wait_for_ports(SERVER, 6, most_s=0.0, tables=[tmp_path / "tcp"], ports=NARROW, told=said.append)
    assert "5 of 10 are held" in why
    assert len(said) <= 1


def test_the_kernel_s_settings_are_read_and_its_defaults_taken_where_it_does_not_tell(tmp_path):
    assert client_ports(tmp_path) == Ports(32768, 60999, reuses=False)
    (tmp_path / "ip_local_port_range").write_text("20000\t65535\n")
    (tmp_path / "tcp_tw_reuse").write_text("2\n")
    assert client_ports(tmp_path) == Ports(20000, 65535, reuses=True)
    assert client_ports(tmp_path).count == 45536
    assert client_ports(Path("/proc/sys/net/ipv4")).count > 0
