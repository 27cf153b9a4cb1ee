"""``./wrkbook hosts check``: inspect all hosts, compare them with this machine, and say what to mend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from runners.core.units import format_duration
from runners.hosts.cluster import ClockOffset, Hosts
from runners.hosts.inspection import Inspection, inspect
from runners.hosts.inventory import Host, Inventory, read_inventory
from runners.hosts.link import Link, measure_link
from runners.hosts.station import CONTROLLER
from runners.machine.facts import PreflightItem

CLOCK_LIMIT_S = 0.1
"""Clocks that differ by more make the times of records hard to compare."""
SLOW_LINK_BPS = 0.9e9
"""A link that carries less is slower than the 1 Gbit/s of the published set-ups."""
_MARKS = {"good": "✓", "advice": "!", "problem": "✗"}
_MEGA = 1e6


@dataclass(frozen=True)
class HostReport:
    """The findings on one host, with its differences from the controller."""

    name: str
    title: str
    inspection: Inspection
    findings: tuple[PreflightItem, ...]

    def lines(self) -> Iterator[str]:
        """Yield a line for each finding with its remedy below it, and the CPUs of each role."""
        yield self.title
        for finding in self.findings:
            yield f"{_MARKS[finding.level]} {finding.name}: {finding.detail}"
            if finding.remedy:
                yield f"    → {finding.remedy}"
        planned = self.inspection.plan.items()
        yield "  CPUs as planned: " + (", ".join(f"{role} {cpus}" for role, cpus in planned) or "too few")


@dataclass(frozen=True)
class HostsCheck:
    """The reports of the controller and of all hosts."""

    reports: tuple[HostReport, ...]

    @property
    def problems(self) -> list[PreflightItem]:
        """Return what prevents measuring."""
        return [
            PreflightItem(f"{report.name}: {finding.name}", finding.level, finding.detail, finding.remedy)
            for report in self.reports
            for finding in report.findings
            if finding.level == "problem"
        ]

    def as_text(self) -> str:
        """Return the reports as lines, for people."""
        return "\n\n".join("\n".join(report.lines()) for report in self.reports)

    def as_dict(self) -> dict[str, Any]:
        """Return the reports for programs; no address is in them."""
        hosts = {
            report.name: {
                "findings": [asdict(finding) for finding in report.findings],
                "machine": report.inspection.fingerprint,
                "cpus": report.inspection.plan,
            }
            for report in self.reports
        }
        return {"can_measure": not self.problems, "hosts": hosts}


def check_hosts(file: Path) -> HostsCheck:
    """Start a worker on each host of an inventory, prepare and inspect all hosts, and end the workers.

    Raises
    ------
    WrkbookError
        When the inventory is wrong, SSH does not reach a host, or wrkbook does not start there.
    """
    inventory = read_inventory(file)
    with Hosts(inventory) as hosts:
        futures = {
            name: hosts.submit(name, inspect, host.roles, host.cpus, host.housekeeping)
            for name, host in inventory.named.items()
        }
        found = {name: hosts.result(name, future) for name, future in futures.items()}
        own = inspect(_own_roles(inventory), inventory.controller_cpus, inventory.controller_housekeeping)
        reports = [HostReport(CONTROLLER, "controller: this machine", own, own.findings)]
        for name, host in inventory.named.items():
            clock, link = hosts.clock(name), measure_link(hosts, name)
            findings = [*differences(own, found[name], host), *measured(clock, link), *found[name].findings]
            reports.append(HostReport(name, f"{name}: {host.title}", found[name], tuple(findings)))
    return HostsCheck(tuple(reports))


def _own_roles(inventory: Inventory) -> list[str]:
    return [] if inventory.name_of("generator") else ["generator"]


def differences(own: Inspection, found: Inspection, host: Host) -> list[PreflightItem]:
    """Return the differences between a host and the controller, each with what to do there."""
    return [
        _commit(own, found, host),
        _versions(own, found),
        _image(own, found),
        _kernel(own, found),
        *_settings(own, found),
        _cpus(found, host),
        _machine(own, found),
    ]


def measured(clock: ClockOffset, link: Link) -> list[PreflightItem]:
    """Return the findings about the clock of a host and the link to it."""
    offset = f"{clock.real_s * 1000:+.1f} ms from the controller's, known to {clock.uncertainty_s * 1000:.1f} ms"
    away = abs(clock.real_s) - clock.uncertainty_s > CLOCK_LIMIT_S
    remedy = "let both follow one time server: timedatectl set-ntp true" if away else ""
    carried = f"{link.rate_bps / _MEGA:,.0f} Mbit/s in one connection, round trip {format_duration(link.rtt_s)}"
    slow = link.rate_bps < SLOW_LINK_BPS
    faster = "the network will be the limit of fast servers: use a link of 1 Gbit/s or more" if slow else ""
    return [
        PreflightItem("clock", "problem" if away else "good", offset, remedy),
        PreflightItem("link", "advice" if slow else "good", carried, faster),
    ]


def _commit(own: Inspection, found: Inspection, host: Host) -> PreflightItem:
    if found.commit != own.commit:
        detail = f"{found.commit[:12]} in {host.project}, the controller has {own.commit[:12]}"
        return PreflightItem("commit", "problem", detail, f"there: git fetch && git checkout {own.commit}")
    states = {"the controller": own.state, "the host": found.state}
    if changed := [name for name, state in states.items() if state == "modified"]:
        detail = f"{own.commit[:12]} on both, with uncommitted changes on {' and '.join(changed)}"
        return PreflightItem("commit", "advice", detail, "commit the changes, and check the commit out on all hosts")
    return PreflightItem("commit", "good", f"{own.commit[:12]} on both")


def _versions(own: Inspection, found: Inspection) -> PreflightItem:
    other = [
        f"{name} {found.versions[name]} (here {wanted})"
        for name, wanted in own.versions.items()
        if found.versions[name] != wanted
    ]
    if other:
        return PreflightItem("versions", "problem", ", ".join(other), "make the same environment there: ./wrkbook list")
    return PreflightItem("versions", "good", f"Python {own.versions['python']} and its packages on both")


def _image(own: Inspection, found: Inspection) -> PreflightItem:
    if found.image["key"] != own.image["key"]:
        detail = f"key {found.image['key']}, the controller has {own.image['key']}"
        return PreflightItem("image", "problem", detail, "use the same commit on both")
    if found.image != own.image:
        detail = "made of other versions of the Debian packages than that of the controller"
        remedy = f"delete image-{found.image['key']} in the cache folder of both, so that both are made anew"
        return PreflightItem("image", "advice", detail, remedy)
    return PreflightItem("image", "good", f"key {own.image['key']}, the same versions of all Debian packages")


def _kernel(own: Inspection, found: Inspection) -> PreflightItem:
    if found.kernel != own.kernel:
        detail = f"{found.kernel}, the controller has {own.kernel}"
        return PreflightItem("kernel", "advice", detail, "install the same kernel where the hosts are to be alike")
    return PreflightItem("kernel", "good", f"{own.kernel} on both")


def _settings(own: Inspection, found: Inspection) -> Sequence[PreflightItem]:
    other = {name: value for name, value in own.settings.items() if found.settings.get(name) != value}
    if not other:
        return [PreflightItem("kernel settings", "good", f"{len(own.settings)} settings of the network are the same")]
    return [
        PreflightItem(
            f"kernel setting {name}",
            "advice",
            f"{found.settings.get(name, 'not there')}, the controller has {value}",
            f'there: sudo sysctl -w {name}="{value}"',
        )
        for name, value in other.items()
    ]


def _cpus(found: Inspection, host: Host) -> PreflightItem:
    if found.missing:
        detail = f"CPU {found.missing} of cpus = {host.cpus!r} does not exist there or may not be used"
        return PreflightItem("CPUs of the inventory", "problem", detail, "correct cpus in the inventory")
    if not found.plan:
        detail = "one core is too few: what is measured and wrkbook itself would share it"
        return PreflightItem("CPUs of the inventory", "problem", detail, "use a host with two cores or more")
    return PreflightItem("CPUs of the inventory", "good", f"{found.cpu}, all there")


def _machine(own: Inspection, found: Inspection) -> PreflightItem:
    if found.fingerprint == own.fingerprint:
        detail = "the host is this very machine: its roles share CPUs and memory with the controller"
        return PreflightItem("machine", "advice", detail, "use another machine, unless it is for a trial")
    return PreflightItem("machine", "good", f"another machine than the controller ({found.fingerprint})")
