"""Migrate stored records of older schemas to the present one, one step for each change, so that readers know one form only.

The labels in recorded and published data are parsed here and nowhere else. A step returns the content with its new schema.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from runners.core.records import CONTROL
from runners.machine.pinning_plan import sharing
from runners.machine.topology import parse_cpu_list

Migrations = Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]]
"""Schema → what makes the content of the next schema of it."""

_LABEL = re.compile(r"(?P<name>.+?)(?:-(?P<delay_ms>\d+)ms|-(?P<size>\d+))?(?:@(?P<shape>.+))?")
_TIERS = "-fast"
_OLD_CONTROL = "placebo"


def run_from_1(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest of schema 1 as one of schema 2; schema 1 held only the labels of systems, workloads and loads."""
    rates = manifest.get("rates")
    loads = [{"load": load["shape"]["name"].removesuffix(_TIERS), **load} for load in (rates["loads"] if rates else ())]
    shapes = {load["shape"]["name"]: load["shape"] for load in loads}
    cells, original = manifest["cells"], manifest["placebo_of"]
    systems = {name: _system(original if name == _OLD_CONTROL else name, name) for name, _ in cells}
    return manifest | {
        "schema": "wrkbook.run/2",
        "systems": systems,
        "workloads": {label: workload_of_label(label, shapes) for _, label in cells},
        "rates": rates | {"loads": loads} if rates else rates,
    }


def run_from_2(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest of schema 2 as one of schema 3, which has other names for what stands still and what is controlled."""
    windows, slices, rates = (manifest.get(name) for name in ("windows", "slices", "rates"))
    same = {name: value for name, value in manifest.items() if name != "placebo_of"}
    return same | {
        "schema": "wrkbook.run/3",
        "windows": _renamed(windows, turn_s="slice_s"),
        "slices": _renamed(slices, asked="requested"),
        "cells": [(_control(system), workload) for system, workload in manifest["cells"]],
        "systems": {
            _control(name): _renamed(system, placebo="control") for name, system in manifest["systems"].items()
        },
        "workloads": {
            label: workload | {"shape": _renamed(workload["shape"], asked_rps="requested_rps")}
            for label, workload in manifest["workloads"].items()
        },
        "control_of": manifest["placebo_of"],
        "rates": rates
        and rates
        | {"loads": [load | {"shape": _renamed(load["shape"], asked_rps="requested_rps")} for load in rates["loads"]]},
    }


def trial_from_5(trial: dict[str, Any]) -> dict[str, Any]:
    """Return a trial of schema 5 as one of schema 6, which has the terms of the glossary and the same facts."""
    trial = _renamed(trial, placebo="control", answer_tolerance="response_tolerance")
    verified = {
        when: _renamed(trial[when], answer_bytes="response_bytes")
        for when in ("verified_before", "verified_after")
        if when in trial
    }
    return (
        trial
        | verified
        | {
            "schema": "wrkbook.trial/6",
            "system": _control(trial["system"]),
            "shape": _renamed(trial["shape"], asked_rps="requested_rps"),
            "windows": [_window_from_5(window) for window in trial["windows"]],
        }
    )


def run_from_3(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest of schema 3 as one of schema 4, whose rates may be shares of a capacity; those of schema 3 are not."""
    return manifest | {"schema": "wrkbook.run/4"}


def run_from_4(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest of schema 4 as one of schema 5, which selects runs, and calls what is wrong with published set-ups flaws."""
    return _renamed(manifest, evidence="selected_runs") | {
        "schema": "wrkbook.run/5",
        "parameters": _renamed(manifest["parameters"], measure_faults="measure_flaws"),
    }


def run_from_5(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest of schema 5 as one of schema 6, which has the versions of components by server: no label holds both."""
    versions = manifest["versions"]
    components: dict[str, dict[str, str]] = {}
    for label, version in versions.get("components", {}).items():
        name, _, server = label.removesuffix(")").rpartition(" (")
        components.setdefault(server, {})[name] = version
    found = versions | {"components": components} if components else versions
    return manifest | {"schema": "wrkbook.run/6", "versions": found}


def trial_from_6(trial: dict[str, Any]) -> dict[str, Any]:
    """Return a trial of schema 6 as one of schema 7, whose loads may have objectives and a window of their own."""
    return trial | {"schema": "wrkbook.trial/7"}


def run_from_6(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest of schema 6 as one of schema 7, which names the threats of its CPUs, and knows more of each core."""
    shared = sharing({role: parse_cpu_list(cpus) for role, cpus in manifest["pinning"].items() if cpus})
    threats = {"pinning_threats": [shared] if shared else []}
    if about := manifest.get("about_machine"):
        cores = [_core_from_6(core) for core in about.get("cores", ())]
        manifest = manifest | {"about_machine": about | {"cores": cores}}
    return manifest | threats | {"schema": "wrkbook.run/7"}


def run_from_7(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest of schema 7 as one of schema 8, which may hold the shades of the systems; schema 7 has none."""
    return manifest | {"schema": "wrkbook.run/8"}


def run_from_8(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest of schema 8 as one of schema 9, whose loads may have a number of server CPUs of their own."""
    return manifest | {"schema": "wrkbook.run/9"}


def run_from_9(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest of schema 9 as one of schema 10, whose systems may be tuned builds."""
    return manifest | {"schema": "wrkbook.run/10"}


def run_from_10(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest of schema 10 as one of schema 11, which may tell of several hosts."""
    return manifest | {"schema": "wrkbook.run/11"}


def trial_from_7(trial: dict[str, Any]) -> dict[str, Any]:
    """Return a trial of schema 7 as one of schema 8, which sums over the CPUs of a role and has numbers of server CPUs."""
    cpus = {role: [str(cpu) for cpu in parse_cpu_list(text)] for role, text in trial["cpus"].items()}
    windows = [
        window | {"samples": [_sample_from_7(sample, cpus) for sample in window["samples"]]}
        for window in trial["windows"]
    ]
    return trial | {"schema": "wrkbook.trial/8", "windows": windows}


def _sample_from_7(sample: dict[str, Any], cpus: Mapping[str, list[str]]) -> dict[str, Any]:
    """Return a sample with the sums over the CPUs of each of its roles in the place of numbers by CPU."""
    by_cpu = ("own_cpu_s", "other_cpu_s", "co_scheduled_cpu_s")
    summed = {}
    for role in (role for role in _ROLES if sample.get(role)):
        times = [sample["cpus"][cpu] for cpu in cpus[role]]
        found: dict[str, Any] = {"times": {kind: sum(each[kind] for each in times) for kind in times[0]}}
        for name in by_cpu:
            seen = sample.get(name)
            found[name] = None if seen is None else sum(seen.get(cpu, 0.0) for cpu in cpus[role])
        summed[role] = found
    return {name: value for name, value in sample.items() if name not in by_cpu} | {"cpus": summed}


def _without_change(schema: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return the step to a schema whose new fields may be missing."""
    return lambda content: content | {"schema": schema}


RUN_MIGRATIONS: Migrations = {
    "wrkbook.run/1": run_from_1,
    "wrkbook.run/2": run_from_2,
    "wrkbook.run/3": run_from_3,
    "wrkbook.run/4": run_from_4,
    "wrkbook.run/5": run_from_5,
    "wrkbook.run/6": run_from_6,
    "wrkbook.run/7": run_from_7,
    "wrkbook.run/8": run_from_8,
    "wrkbook.run/9": run_from_9,
    "wrkbook.run/10": run_from_10,
    # Since then a system may be the build of an earlier git revision.
    "wrkbook.run/11": _without_change("wrkbook.run/12"),
}
TRIAL_MIGRATIONS: Migrations = {
    "wrkbook.trial/5": trial_from_5,
    "wrkbook.trial/6": trial_from_6,
    "wrkbook.trial/7": trial_from_7,
    # Since then a system may be a tuned build (9), windows may tell of a network (10), their load may come from several hosts (11), and
    # late blocks of a comparison of revisions measure no percentiles (12).
    "wrkbook.trial/8": _without_change("wrkbook.trial/9"),
    "wrkbook.trial/9": _without_change("wrkbook.trial/10"),
    "wrkbook.trial/10": _without_change("wrkbook.trial/11"),
    "wrkbook.trial/11": _without_change("wrkbook.trial/12"),
}


def _window_from_5(window: dict[str, Any]) -> dict[str, Any]:
    return _renamed(window, turns="slices") | {
        "load": _renamed(window["load"], asked_rps="requested_rps", opening_s="ramp_up_s"),
        "samples": [_sample_from_5(sample) for sample in window["samples"]],
    }


def _sample_from_5(sample: dict[str, Any]) -> dict[str, Any]:
    renamed = _renamed(
        sample, ours="own_cpu_s", others="other_cpu_s", strain="pressure", stood_s="suspended_s",
        companions="co_scheduled_cpu_s",
    )  # fmt: skip
    roles = {role: _renamed(renamed[role], strays="unpinned_threads") for role in _ROLES if role in renamed}
    for name, role in roles.items():
        if "pss_bytes" in role:
            held = {each: role.pop(each) for each in ("pss_bytes", "fds_count")}
            roles[name] = role | {"memory": held | {"rss_bytes": role["rss_bytes"]}}
    return renamed | roles


def _core_from_6(core: dict[str, Any]) -> dict[str, Any]:
    return {"cpus": core["cpus"], "node": core["node"], "package": 0, "l3": None, "kind": int(core["efficient"])}


_ROLES = ("server", "generator", "backend")


def _renamed(content: Any, **names: str) -> dict[str, Any]:  # noqa: ANN401  (null stays null)
    """Return JSON with other names for some members; the others stay, and so does their order."""
    return content and {names.get(name, name): value for name, value in content.items()}


def _control(system: str) -> str:
    return CONTROL if system == _OLD_CONTROL else system


def _system(label: str, name: str) -> dict[str, Any]:
    server, _, codec = label.partition("+")
    return {"server": server, "codec": codec or None, "placebo": name == _OLD_CONTROL}


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
