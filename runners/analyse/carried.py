"""The capacities under an objective that a latency run of the same machine found, for reports of other experiments."""

from __future__ import annotations

import pandas as pd

from runners.analyse.capacities import build_capacities
from runners.analyse.recorded import RunRecord
from runners.analyse.results import analyse
from runners.analyse.sessions import other_sessions, same_hardware, usable
from runners.core.errors import WrkbookError
from runners.core.records import CONTROL, SMOKE_PROFILE
from runners.store.ledger import Run, is_reference, runs

MEASURED_BY = "08-latency-under-load"
"""The experiment that finds capacities."""


def carried(results: RunRecord) -> pd.DataFrame:
    """Return the capacities under the first objective of the newest latency run on the same machine and the same CPUs.

    They are over all of its sessions. The run with the same id is taken first. Smoke runs are no evidence. The reference counts for
    itself alone.

    Columns
    -------
    Those of :func:`runners.analyse.capacities.build_capacities`, and run_id; no rows where nothing was measured.
    """
    for run in _candidates(results):
        try:
            own = analyse(run)
        except WrkbookError:
            continue
        others = [each.searches for each in usable(other_sessions(own))]
        found = build_capacities(own.manifest, own.searches, own.tables.failures, others)
        found = found[found["capacity_rps"].notna() & (found["system"] != CONTROL)]
        if len(found):
            return found[found["objective"] == found["objective"].iloc[0]].assign(run_id=run.run_id)
    return pd.DataFrame(columns=["base_workload", "objective", "system", "capacity_rps", "run_id"])


def _candidates(results: RunRecord) -> list[Run]:
    """Return the runs that may be quoted, the best first."""
    own, found = results.manifest, []
    for run in runs(MEASURED_BY, results.run.base):
        if is_reference(run.run_id) != is_reference(results.run.run_id):
            continue
        try:
            manifest = run.read()
        except WrkbookError:
            continue
        cpus = manifest.pinning.get("server") == own.pinning.get("server")
        if same_hardware(manifest, own) and cpus and manifest.profile != SMOKE_PROFILE:
            found.append((run.run_id == results.run.run_id, manifest.started_at, run))
    return [run for *_, run in sorted(found, key=lambda each: each[:2], reverse=True)]
