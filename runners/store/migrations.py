"""Bring the records of older schemas up to the present one, so that readers know one form only.

The labels in recorded and published data are taken apart here and nowhere else.
"""

from __future__ import annotations

import re
from typing import Any

_LABEL = re.compile(r"(?P<name>.+?)(?:-(?P<delay_ms>\d+)ms|-(?P<size>\d+))?(?:@(?P<shape>.+))?")
_TIERS = "-fast"


def run_from_1(record: dict[str, Any]) -> dict[str, Any]:
    """Return a run's record of schema 1 as one of schema 2.

    Schema 1 held only the labels of systems, workloads and loads.
    """
    rates = record.get("rates")
    loads = [{"load": load["shape"]["name"].removesuffix(_TIERS), **load} for load in (rates["loads"] if rates else ())]
    shapes = {load["shape"]["name"]: load["shape"] for load in loads}
    cells = record.get("cells", [])
    return record | {
        "systems": {name: _system(record.get("placebo_of") if name == "placebo" else name, name) for name, _ in cells},
        "workloads": {label: workload_of_label(label, shapes) for _, label in cells},
        "rates": rates | {"loads": loads} if rates else rates,
    }


def _system(label: str | None, name: str) -> dict[str, Any]:
    server, _, codec = (label or name).partition("+")
    return {"server": server, "codec": codec or None, "placebo": name == "placebo"}


def workload_of_label(label: str, shapes: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the fields of a workload from its label; `shapes` are the loads that the label alone does not describe."""
    found = _LABEL.fullmatch(label)
    assert found is not None, "a label has a name"
    name, shape, size = found["name"], found["shape"] or "", int(found["size"]) if found["size"] else None
    return {
        "name": name,
        "operations": None if name == "sql2" else size,
        "delay_ms": int(found["delay_ms"]) if found["delay_ms"] else None,
        "count": size if name == "sql2" else None,
        "shape": (shapes or {}).get(shape, {"name": shape, "connections": int(shape) if shape.isdigit() else None}),
    }
