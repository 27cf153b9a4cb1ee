"""Two runs of one experiment, as the notebook that compares them sees them.

The notebook says ``runs = TwoRuns(globals())``, shows ``runs.differences``, reads ``runs.results()`` and ends with
``runs.publish(…)``. Nothing is measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runners.analyse.run_comparison import BeforeAfter, compare_runs
from runners.analyse.run_differences import Difference, check_comparable, differences
from runners.analyse.summary import write_comparison
from runners.core.errors import WrkbookError
from runners.core.notebooks import experiments, find_experiment
from runners.core.parameters import ComparedRuns, from_notebook, validated
from runners.present import comparison as before_after
from runners.present.narrative import Narrative
from runners.store.ledger import Run
from runners.store.states import find_runs


class TwoRuns:
    """The runs A (before a change) and B (after it), found and checked before anything is analysed.

    Parameters
    ----------
    namespace : the notebook's ``globals()``, or parameters by name

    Raises
    ------
    WrkbookError
        For an unknown or wrong parameter or run, and for runs that were not measured alike.
    """

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self.parameters = validated(ComparedRuns, from_notebook(namespace, ComparedRuns))
        pairs = find_pairs(self.parameters.run_a, self.parameters.run_b, self.parameters.experiment)
        if len(pairs) > 1:
            raise WrkbookError(
                "several experiments have both runs: " + ", ".join(a.experiment for a, _ in pairs),
                "set the parameter experiment to one of them",
            )
        self.a, self.b = pairs[0]
        check_comparable(self.a, self.b, anyway=self.parameters.anyway)

    @property
    def differences(self) -> list[Difference]:
        """Return the differences between the manifests of both runs."""
        return differences(self.a.read(), self.b.read())

    def results(self) -> BeforeAfter:
        """Compare what the ledger holds of both; errors as in :func:`runners.analyse.run_comparison.compare_runs`."""
        return compare_runs(self.a, self.b, anyway=self.parameters.anyway)

    def publish(self, found: BeforeAfter) -> Narrative:
        """Write the comparison's summary with its conclusions, and return these."""
        conclusions = before_after.conclusions(found)
        write_comparison(found, list(conclusions), str(before_after.headline(found)))
        return conclusions


def find_pairs(run_a: str, run_b: str, experiment: str = "") -> list[tuple[Run, Run]]:
    """The runs of these ids, for each experiment that has both, or for the one that is named.

    Raises
    ------
    WrkbookError
        When there is no such experiment, no run of an id, or no experiment has both.
    """
    searched = [find_experiment(experiment)] if experiment else experiments()
    found = [{run.experiment: run for run in find_runs(run_id, searched)} for run_id in (run_a, run_b)]
    pairs = [(run, found[1][name]) for name, run in found[0].items() if name in found[1]]
    if not pairs:
        places = [", ".join(side) for side in found]
        raise WrkbookError(
            f"run {run_a} is of {places[0]}, run {run_b} of {places[1]}: runs of different experiments are never compared",
            "compare two runs of the same experiment; ./wrkbook list shows them",
        )
    return pairs
