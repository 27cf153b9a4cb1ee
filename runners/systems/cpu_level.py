"""The x86-64 level of this machine's CPUs: v1 to v4, as the psABI defines them."""

from __future__ import annotations

from pathlib import Path

# By their names in /proc/cpuinfo, where SSE3 is pni and LZCNT is abm. xsave stands for OSXSAVE: Linux shows AVX only with it.
_LEVELS = {
    "v2": {"cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"},
    "v3": {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"},
    "v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
}


def amd64_level(cpuinfo: str) -> str:
    """Return the highest level that every CPU has, by the text of /proc/cpuinfo: v1 to v4; empty if they are not x86-64."""
    lists = [set(line.partition(":")[2].split()) for line in cpuinfo.splitlines() if line.startswith("flags\t")]
    common = set.intersection(*lists) if lists else set()
    if "lm" not in common:
        return ""
    level = "v1"
    for name, needed in _LEVELS.items():
        if not needed <= common:
            break
        level = name
    return level


def own_level() -> str:
    """Return the level of this machine."""
    return amd64_level(Path("/proc/cpuinfo").read_text(encoding="utf-8"))
