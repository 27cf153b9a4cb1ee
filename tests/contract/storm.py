"""Bad requests by the thousand, for tests of what they leave behind in a server."""

from runners.contract.conformance import stored
from runners.contract.connection import Connection
from runners.contract.runner import VectorRunner
from runners.core.workloads import WORKLOADS


def storm(base_url, services, requests_count=10_000):
    """Send so many bad requests, short ones over and over, then a good one to each service.

    The memory of the server is for the caller to inspect, before and after.
    """
    with Connection(base_url) as connection:
        run = VectorRunner(connection)
        for service in (
            chosen := [each for each in services if WORKLOADS[each.workload].gives not in ("", "any JSON")]
        ):
            bad = [vector for vector in stored() if service.workload in vector.workloads and is_short_and_bad(vector)]
            rounds = requests_count // len(chosen) // len(bad) + 1
            run.try_all((vector for _ in range(rounds) for vector in bad), service)
        for service in chosen:
            good = [vector for vector in stored() if service.workload in vector.workloads and vector.quick]
            run.try_all(good, service)
    return run.findings


def is_short_and_bad(vector):
    return vector.statuses == {400} and vector.body is not None and len(vector.body) < 2000
