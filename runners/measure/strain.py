"""Whether the machine itself was under strain: its clock throttled by heat, its memory short."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

_CPUS = Path("sys/devices/system/cpu")
_SWAPPED = ("pswpin", "pswpout")


def strain(cpus: Collection[int], root: Path = Path("/")) -> dict[str, Any]:
    """What the kernel says at this moment; None for what it does not show here.

    Returns
    -------
    dict
        ``throttled_count`` (how often heat has slowed one of `cpus` since the start of the machine), ``clock_hz`` (the lowest
        clock of `cpus` now), ``memory_stall_s`` (for how long some task has waited for memory since the start of the machine:
        pressure stall information), ``swapped_pages_count`` (pages written to or read from swap since then).
    """
    files = [file for cpu in cpus for file in (root / _CPUS / f"cpu{cpu}/thermal_throttle").glob("*_throttle_count")]
    counts = [found for found in map(_number, files) if found is not None]
    clocks = [_number(root / _CPUS / f"cpu{cpu}/cpufreq/scaling_cur_freq") for cpu in cpus]
    shown = [clock * 1000 for clock in clocks if clock is not None]
    return {
        "throttled_count": sum(counts) if counts else None,
        "clock_hz": min(shown) if shown else None,
        "memory_stall_s": _memory_stall_s(root / "proc/pressure/memory"),
        "swapped_pages_count": _swapped_pages(root / "proc/vmstat"),
    }


def _memory_stall_s(file: Path) -> float | None:
    for line in _lines(file):
        kind, *fields = line.split()
        if kind == "some":
            return int(dict(field.split("=") for field in fields)["total"]) / 1e6
    return None


def _swapped_pages(file: Path) -> int | None:
    found = [int(line.split()[1]) for line in _lines(file) if line.split()[0] in _SWAPPED]
    return sum(found) if found else None


def _number(file: Path) -> int | None:
    lines = _lines(file)
    return int(lines[0]) if lines and lines[0].isdigit() else None


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text().splitlines()
    except OSError:
        return []
