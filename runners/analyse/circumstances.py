"""What differs between a published measurement and ours, beside the numbers: CPUs, versions, and flaws of the published set-up."""

from __future__ import annotations

from collections.abc import Sequence

from runners.analyse.claims import Claim
from runners.analyse.faults import Fault, touching
from runners.analyse.published import Source
from runners.analyse.recorded import Recorded


def circumstances(claim: Claim, source: Source, run: Recorded | None, faults: Sequence[Fault]) -> dict[str, str]:
    """Return published_cpu, cpu, published_versions, versions and flaws (those known that touch its cells), as text for people."""
    return {
        "published_cpu": source.cpu or "not stated",
        "cpu": str(run.machine.get("cpu", "")) if run else "",
        "published_versions": ", ".join(map(" ".join, source.versions.items())) or "not stated",
        "versions": _components(claim, run.versions.get("components", {})) if run else "",
        "flaws": "; ".join(fault.title for fault in touching(faults, claim)),
    }


def _components(claim: Claim, versions: dict[str, str]) -> str:
    """Return the versions of the claim's servers, which ``run.json`` has by component and server: ``Go (gin)``."""
    servers = [f" ({system.partition('+')[0]})" for system in claim.systems]
    found = (f"{name.removesuffix(end)} {versions[name]}" for end in servers for name in versions if name.endswith(end))
    return ", ".join(dict.fromkeys(found))
