"""Check that a running TCP proxy relays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runners.contract.proxy.cases import CASES, Case, Severity
from runners.contract.proxy.rig import DifferenceError, Proxy


@dataclass(frozen=True)
class RelayFinding:
    """One case that a proxy fails, and how."""

    case: str
    severity: Severity
    difference: str

    def __str__(self) -> str:
        return f"{self.case} ({self.severity}): {self.difference}"


def check(proxy: Proxy, cases: Sequence[Case] = CASES) -> list[RelayFinding]:
    """Try all cases on a proxy, one after the other, within about ten seconds; no load. Nothing else may connect meanwhile.

    Returns
    -------
    list of RelayFinding
        Empty for a proxy that does everything. With a finding that is ``required`` it must not be measured.
    """
    findings = []
    for case in cases:
        try:
            case.attempt(proxy)
        except (DifferenceError, OSError) as error:
            findings.append(RelayFinding(case.name, case.severity, str(error) or type(error).__name__))
    return findings
