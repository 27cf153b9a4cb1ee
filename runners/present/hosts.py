"""The hosts of a run as a picture: what ran on each, on which CPUs, and the link between them."""

from __future__ import annotations

from collections.abc import Sequence

from runners.core.run_manifest import HostFacts, LinkFacts
from runners.core.units import format_duration, listing
from runners.machine.topology import parse_cpu_list
from runners.present.kit.markup import Box, Fragment, Frame, map_of
from runners.present.machine import ROLE_NAMES, role_color

_ORDER = ("generator", "server", "backend")
_MEGA = 1e6


def carries(link: LinkFacts) -> str:
    """Return what a link carries, and how long a round trip takes."""
    return f"{link.rate_bps / _MEGA:,.0f} Mbit/s in one connection, round trip {format_duration(link.rtt_s)}"


def hosts_map(hosts: Sequence[HostFacts], link: LinkFacts) -> Fragment:
    """Return a picture of the hosts: those of the load generator, the link, the server's, and the backend's. One machine has one number."""
    ordered = sorted(hosts, key=lambda host: min(_ORDER.index(role) for role in host.roles))
    clients = [host for host in ordered if host.roles == ["generator"]]
    others = [host for host in ordered if host.roles != ["generator"]]
    between = Frame("link", [Box(f"{link.rate_bps / _MEGA:,.0f} Mbit/s", (), carries(link))], "wb-link")
    machines = list(dict.fromkeys(host.fingerprint for host in ordered))
    framed = {host.name: _frame(host, machines.index(host.fingerprint) + 1) for host in ordered}
    frames = [framed[host.name] for host in clients]
    frames += [*([between] if clients else []), *(framed[host.name] for host in others)]
    shown = {role for host in hosts for role in host.roles}
    legend = [(Box("", [role_color(role)]), ROLE_NAMES[role]) for role in _ORDER if role in shown]
    told = [f"{host.name}: {listing([ROLE_NAMES[role] for role in host.roles])}" for host in ordered]
    return map_of(frames, legend, f"{len(hosts)} hosts; {'; '.join(told)}; link: {carries(link)}")


def _frame(host: HostFacts, machine: int) -> Frame:
    boxes = [
        Box(_cpus(host.cpus[role]), [role_color(role)], f"{ROLE_NAMES[role]}: CPUs {host.cpus[role]}")
        for role in _ORDER
        if role in host.roles
    ]
    return Frame(f"{host.name} (machine {machine})", boxes)


def _cpus(cpus: str) -> str:
    return f"CPU {cpus}" if len(parse_cpu_list(cpus)) == 1 else f"CPUs {cpus}"
