"""The request that a load generator repeats for a workload of the contract."""

from __future__ import annotations

from runners.contract.inputs import Style, request_body
from runners.contract.runner import filled
from runners.contract.vectors.endpoints import query_of
from runners.core.records import Request, Workload


def contract_request(path: str, workload: Workload, style: Style, seed: int) -> Request:
    """The request for `workload`, on a path template of a manifest such as ``/dbopsimd/{db}/{table}``."""
    target = filled(path, path_parameters(workload)) + query_of(workload.count)
    if workload.operations is None:
        return Request("GET", target, content_type="")
    return Request("POST", target, request_body(workload.operations, style, seed))


# How far the mean size of an answer may be from that of a verified one, where answers differ from request to request: in the
# digits of random numbers and of the time, and, for pages, in what is drawn.
_SIZE_TOLERANCES = {"json": 0.03, "sql1": 0.03, "sql2": 0.1, "json10": 0.06, "blog": 0.25}
_SAME_SIZE = 0.001


def response_tolerance(workload: str) -> float:
    """By what fraction the mean size of the answers may differ from the size of one that was verified."""
    return _SIZE_TOLERANCES.get(workload, _SAME_SIZE)


# What a server has to say to the database; servers/postgresql/counters.sql counts nothing else as that workload's.
STATEMENTS = {
    "sql1": "SELECT CAST(now() AS VARCHAR)",
    "sql2": "SELECT id, number, name FROM record WHERE id = ANY($1)",
}


def backend_work(workload: Workload) -> dict[str, dict[str, int]]:
    """Return the backend's work for one request, by the names of its counters; empty where nothing is counted."""
    if workload.name == "sql1":
        return {"sql1": {"calls": 1, "rows": 1}}
    if workload.name == "sql2" and workload.count is not None:
        return {"sql2": {"calls": 1, "rows": workload.count}}
    return {}


def path_parameters(workload: Workload) -> dict[str, str]:
    """The path parameters in which `workload` differs from the defaults."""
    return {} if workload.delay_ms is None else {"ms": str(workload.delay_ms)}
