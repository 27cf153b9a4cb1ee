"""The expected time of notebooks that are still to be measured, from what their blocks took before."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from statistics import fmean

from runners.core.parameters import PROFILES, Parameters, Profile
from runners.core.records import CONTROL
from runners.core.summaries import JsonRow
from runners.store.ledger import runs
from runners.store.runs import processed_folder, read_summary


def expected_s(names: Sequence[str], parameters: Parameters, systems: Collection[str] = ()) -> float:
    """Return about how long it takes to measure some notebooks, one after the other, each with these parameters.

    `systems` are those that the user names for all of them; without any, each has its own.

    Each takes its budget, but neither less than its sure blocks nor more than its largest number of them. A block is expected to take what
    it took in the newest run of the notebook, the reference included, or where it has none, what the blocks of the others take. 0 where
    none of them has a run.
    """
    profile = parameters.effective_profile
    known = [_block_s(name, parameters.profile, profile, systems) for name in names]
    if not any(known):
        return 0.0
    usual_s = fmean(filter(None, known))
    return sum(_measuring_s(block_s or usual_s, profile) for block_s in known)


def _measuring_s(block_s: float, profile: Profile) -> float:
    return min(max(60 * profile.budget_minutes, profile.sure_blocks * block_s), profile.max_blocks * block_s)


def _block_s(name: str, profile_name: str, profile: Profile, systems: Collection[str]) -> float:
    """Return the mean time of a block in the newest run of a notebook, of this profile where one is; 0 where there is none.

    It is taken to be that of its windows: of another profile they have another length, and of some `systems` there are fewer.
    """
    summaries = filter(None, (read_summary(processed_folder(run)) for run in runs(name)))
    found = [each for each in summaries if each["blocks_count"]]
    if not found:
        return 0.0
    newest = max(found, key=lambda each: (each["profile"] == profile_name, each["started_at"]))
    longer = 1.0 if newest["profile"] == profile_name else _windows_s(profile) / _windows_s(PROFILES[newest["profile"]])
    return longer * _share(newest["cells"], systems) * newest["measured_s"] / newest["blocks_count"]


def _share(cells: Sequence[JsonRow], systems: Collection[str]) -> float:
    """Return the share of a run's cells that have one of these systems, or the control; 1 where none of them was measured."""
    measured = {cell["system"] for cell in cells}
    if measured.isdisjoint(systems):
        return 1.0
    return fmean(cell["system"] in systems or cell["system"] == CONTROL for cell in cells)


def _windows_s(profile: Profile) -> float:
    return profile.warmup_s + profile.windows_count * profile.window_s
