"""The report about the shape of production: that of endpoints, with the cost of what workloads add, and with the mix."""

from __future__ import annotations

from runners.analyse.results import Results
from runners.core.workloads import WORKLOADS
from runners.present.endpoints import report, sentences
from runners.present.kit.wording import at_most
from runners.present.production import costs, mix

answer = report.answer
decision_table = report.decision_table
message = report.message
main_chart = report.main_chart
how_sure = report.how_sure


def conclusions(results: Results) -> list[str]:
    """Return the conclusions besides the answer, the most important first."""
    return at_most([*costs.sentences(costs.costs(results)), *mix.sentences(results), *others(results)])


def others(results: Results) -> list[str]:
    """Return who leads the other workloads, and what limited how many cells."""
    of_mixes = mix.sentences(results)
    return [*(said for said in sentences.by_column(results) if said not in of_mixes), sentences.limits(results)]


def threats(results: Results) -> list[str]:
    """Return what these numbers do not say: of compression, of the mix, and of what endpoints share."""
    found = [*sentences.threats_of_endpoints(results), costs.sizes(results)]
    if mix.labels(results):
        found.append(
            "The mix has one throughput and one distribution of service times: wrk tells no endpoint's own status or latency."
        )
    if not costs.costs(results).empty:
        found.append("A cost is that of this body and this machine: a smaller body, or a network, changes it.")
    if any(WORKLOADS[workload.name].closes for workload in results.workloads.values()):
        found.append(
            "With a connection for each request, the load generator works more than the server: compare CPU times, not throughputs."
        )
    return found
