"""What differs between a published measurement and ours, beside the numbers: CPUs, versions, and flaws of the published set-up."""

from __future__ import annotations

from collections.abc import Sequence

from runners.analyse.claims import Claim
from runners.analyse.faults import Fault, touching
from runners.analyse.published import Source
from runners.analyse.recorded import Recorded

NOT_STATED = "not stated"


def circumstances(claim: Claim, source: Source, run: Recorded | None, faults: Sequence[Fault]) -> dict[str, str]:
    """Return published_cpu, cpu, published_versions, versions and flaws (those known that touch its cells), as text for people."""
    return {
        "published_cpu": source.cpu or NOT_STATED,
        "cpu": str(run.machine.get("cpu", "")) if run else "",
        "published_versions": ", ".join(f"{name} {version}" for name, version in source.versions.items()) or NOT_STATED,
        "versions": ", ".join(_components(claim, run)) if run else "",
        "flaws": "; ".join(fault.title for fault in touching(faults, claim)),
    }


def _components(claim: Claim, run: Recorded) -> list[str]:
    """Return the components of the claim's servers with their versions, as ``run.json`` names them: ``Go (gin)``."""
    servers = dict.fromkeys(system.partition("+")[0] for system in claim.systems)
    known = run.versions.get("components", {})
    found = [
        f"{name.removesuffix(f' ({server})')} {version}"
        for server in servers
        for name, version in known.items()
        if name.endswith(f" ({server})")
    ]
    return list(dict.fromkeys(found))
