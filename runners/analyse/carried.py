"""The capacities under an objective that a latency run of the same machine found, for reports of other experiments."""

from __future__ import annotations

import pandas as pd

from runners.analyse.capacities import build_capacities
from runners.analyse.kept_tables import run_tables
from runners.analyse.recorded import RunRecord
from runners.core.errors import WrkbookError
from runners.core.records import CONTROL, SMOKE_PROFILE
from runners.core.run_manifest import RunManifest
from runners.store.ledger import Run, is_reference, runs

MEASURED_BY = "08-latency-under-load"
"""The experiment that finds capacities."""


def carried(results: RunRecord) -> pd.DataFrame:
    """Return the capacities under the first objective of the newest latency run on the same machine and the same CPUs.

    The run with the same id is taken first. Smoke runs are no evidence. The reference run counts for itself alone.

    Columns
    -------
    Those of :func:`runners.analyse.capacities.build_capacities`, and run_id; no rows where nothing was measured.
    """
    for run, manifest in _candidates(results):
        try:
            tables = run_tables(run)
        except WrkbookError:
            continue
        found = build_capacities(manifest, tables.trials, tables.failures)
        found = found[found["capacity_rps"].notna() & (found["system"] != CONTROL)]
        if len(found):
            return found[found["objective"] == found["objective"].iloc[0]].assign(run_id=run.run_id)
    return pd.DataFrame(columns=["base_workload", "objective", "system", "capacity_rps", "run_id"])


def _candidates(results: RunRecord) -> list[tuple[Run, RunManifest]]:
    """Return the runs that may be quoted, with their manifests, the best first."""
    own, found = results.manifest, []
    for run in runs(MEASURED_BY, results.run.base):
        if is_reference(run.run_id) != is_reference(results.run.run_id):
            continue
        try:
            manifest = run.read()
        except WrkbookError:
            continue
        same = all(
            manifest.machine.get(name) == own.machine.get(name) for name in ("cpu", "cpus_count", "memory_bytes")
        )
        if same and manifest.pinning.get("server") == own.pinning.get("server") and manifest.profile != SMOKE_PROFILE:
            found.append((run, manifest))
    return sorted(found, key=lambda each: (each[0].run_id == results.run.run_id, each[1].started_at), reverse=True)
