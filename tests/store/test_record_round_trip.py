"""What the ledger writes is what it reads, whatever the record holds."""

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, strategies as st

from runners.core.run_manifest import RunManifest
from runners.core.sample import ROLES, RoleCpus, Sample
from runners.core.trial_record import TrialRecord, WindowRecord
from runners.store.ledger import Run
from tests.analyse.synthetic import manifest
from tests.conftest import examples

JSON = st.dictionaries(
    st.text(), st.none() | st.booleans() | st.floats(allow_nan=False) | st.text() | st.lists(st.integers())
)
# Of fields with a default too.
CPUS = st.builds(RoleCpus, other_cpu_s=..., co_scheduled_cpu_s=...)
SAMPLES = st.builds(Sample, backend=..., cpus=st.dictionaries(st.sampled_from(ROLES), CPUS), connections_count=...)
WINDOWS = st.builds(WindowRecord, samples=st.lists(SAMPLES, max_size=2))
TRIALS = st.builds(
    TrialRecord, windows=st.lists(WINDOWS, max_size=2), failure=..., verified_before=..., memory_after=...
)
MANIFESTS = st.builds(
    RunManifest, parameters=JSON, machine=JSON, versions=JSON, rates=..., about_machine=..., notes=..., backends=...
)


@examples(15, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(TRIALS)
def test_a_trial_is_read_as_it_was_written(trial):
    with tempfile.TemporaryDirectory() as folder:
        run = Run("01-ping", "r1", Path(folder))
        run.open(manifest())
        run.write_block(1, [trial])
        # As text, in which what is not a number equals itself.
        assert [found.model_dump_json() for found in run.trials()] == [trial.model_dump_json()]


@examples(15, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(MANIFESTS)
def test_a_manifest_is_read_as_it_was_written(found):
    with tempfile.TemporaryDirectory() as folder:
        run = Run("01-ping", "r1", Path(folder))
        run.open(found)
        assert run.read().model_dump_json() == found.model_dump_json()
