"""The request that a load generator repeats for a workload of the contract."""

from __future__ import annotations

from runners.contract.inputs import Style, request_body
from runners.contract.runner import filled
from runners.contract.vectors.endpoints import query_of
from runners.core.load import Request
from runners.core.records import Workload


def contract_request(path: str, workload: Workload, style: Style, seed: int) -> Request:
    """The request for `workload`, on a path template of a manifest such as ``/dbopsimd/{db}/{table}``."""
    target = filled(path, path_parameters(workload)) + query_of(workload.count)
    if workload.operations is None:
        return Request("GET", target, content_type="")
    return Request("POST", target, request_body(workload.operations, style, seed))


def path_parameters(workload: Workload) -> dict[str, str]:
    """The path parameters in which `workload` differs from the defaults."""
    return {} if workload.delay_ms is None else {"ms": str(workload.delay_ms)}
