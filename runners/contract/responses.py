"""Compare a response with the one that the contract requires, and name the first difference."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache

from runners.contract.data import relayed
from runners.contract.decoder.reference import decode, normalised
from runners.contract.decoder.strict_json import ContractError, parse, plain
from runners.contract.dynamic import drawn
from runners.contract.findings import Response, UnexpectedError, shown
from runners.core.specification import Expectation
from runners.core.workloads import WORKLOADS

# The clock of the response is the one of this machine; servers renew the date about once a second.
_OLDEST_DATE_S = 10.0
# A response that reports an absent database must come within this time.
_SOON_S = 3.0
_IDENTITY = "identity"


def status_difference(response: Response, statuses: frozenset[int]) -> str | None:
    """Say how the status differs from those that are allowed."""
    if response.status in statuses:
        return None
    allowed = " or ".join(str(status) for status in sorted(statuses))
    return f"status {response.status} instead of {allowed}"


def header_difference(response: Response, workload: str, coding: str = "") -> str | None:
    """Say how the headers of a response differ from the contract; its status is known to be right.

    Parameters
    ----------
    response : Response
        The response.
    workload : str
        The requested workload; empty for the server as a whole.
    coding : str
        The expected content coding, where requests choose one; empty: none.
    """
    for name in ("content-type", "content-length", "date"):
        if name not in response.headers:
            return f"header {name.title()} is missing"
    if difference := _type_difference(response, workload):
        return difference
    return _coding_difference(response, coding) or _date_difference(response.headers["date"])


def body_difference(response: Response, workload: str, expect: Expectation, sent: bytes) -> str | None:
    """Say how the body of a response with status 200, 400 or 503 differs from what a vector expects.

    Parameters
    ----------
    response : Response
        The response, its status known to be right.
    workload : str
        The requested workload.
    expect : Expectation
        The expectation of a vector (see `vectors.json`).
    sent : bytes
        The body of the request, for echoes that must equal it.
    """
    if response.status == 503 and response.elapsed_s > _SOON_S:
        return f"the response came only after {response.elapsed_s:.1f} s"
    if response.status != 200:
        return _error_difference(response.body) if WORKLOADS[workload].errors_are_json else None
    gives = WORKLOADS[workload].gives
    if gives == "any JSON":
        return _no_json(response.body)
    if gives == "receipt" and "receipt" in expect:
        return _json_difference(expect["receipt"], response.body)
    if gives == "echo" and "echo" in expect:
        wanted = expect["echo"]
        return echo_difference(_normalised(sent) if isinstance(wanted, str) else wanted, response.body)
    if gives == "bytes" and "json" in expect:
        return _json_difference(expect["json"], response.body)
    if "text" in expect and response.body != str(expect["text"]).encode():
        return f"body is {shown(response.body)} instead of {expect['text']!r}"
    if "file" in expect:
        return _relayed_difference(response.body)
    try:
        drawn(expect, response.body)
    except UnexpectedError as error:
        return str(error)
    return None


def echo_difference(expected: Mapping[str, object], body: bytes) -> str | None:
    """Say how an echo differs from a normalised batch: members that were not given may be null, unknown ones are wrong.

    Parameters
    ----------
    expected : Mapping[str, object]
        A batch as `batch.normalised` returns it.
    body : bytes
        The body of the response.
    """
    try:
        document = parse(body)
    except ContractError as error:
        return f"the echo is refused by the reference decoder: {error}"
    if document.repeated:
        return "the echo has a member twice"
    echo = plain(document.root)
    if json.dumps(expected, sort_keys=True) == json.dumps(echo, sort_keys=True):
        return None  # the usual case, and a fast one; looking for the first difference is neither
    return first_difference(expected, echo, null_is_absent=True)


def first_difference(expected: object, got: object, place: str = "$", null_is_absent: bool = False) -> str | None:
    """Return the first difference between two JSON values, with its place; None if they are equal.

    Numbers are equal as doubles (-0 equals 0); true is not 1. With `null_is_absent`, members that are null are skipped
    if nothing is expected in their place.
    """
    if isinstance(expected, dict) and isinstance(got, dict):
        for name, value in expected.items():
            if name not in got:
                return f"{place}.{name} is missing"
            if difference := first_difference(value, got[name], f"{place}.{name}", null_is_absent):
                return difference
        for name, value in got.items():
            if name not in expected and not (null_is_absent and value is None and name in _OPTIONAL):
                return f"{place}.{name} is unexpected"
        return None
    if isinstance(expected, list) and isinstance(got, list):
        for index, (one, other) in enumerate(zip(expected, got, strict=False)):
            if difference := first_difference(one, other, f"{place}[{index}]", null_is_absent):
                return difference
        return None if len(expected) == len(got) else f"{place} has {len(got)} elements instead of {len(expected)}"
    if _scalar(expected) == _scalar(got):
        return None
    return f"{place} is {shown(got)} instead of {shown(expected)}"


_OPTIONAL = frozenset({"readColumns", "dataReturnType", "operationId"})


def _scalar(value: object) -> tuple[type, object]:
    if isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    return type(value), value if not isinstance(value, dict | list) else id(value)


def _type_difference(response: Response, workload: str) -> str | None:
    found = WORKLOADS.get(workload)
    if (
        response.status != 200
        and found
        and not found.takes
        and not (found.errors_are_json and response.status in (400, 503))
    ):
        return None
    wanted = found.content_type if found and response.status == 200 else "application/json"
    media_type, _, parameter = response.headers["content-type"].lower().partition(";")
    if media_type.strip() != wanted:
        return f"header Content-Type is {media_type.strip()!r} instead of {wanted!r}"
    if wanted == "text/html" and parameter.replace('"', "").strip() != "charset=utf-8":
        return f"header Content-Type is {response.headers['content-type']!r}, without charset=utf-8"
    return None


def _relayed_difference(body: bytes) -> str | None:
    whole = relayed()
    if len(body) != len(whole):
        return f"body has {len(body)} bytes instead of {len(whole)}"
    place = next((place for place, (one, other) in enumerate(zip(whole, body, strict=True)) if one != other), None)
    return None if place is None else f"body differs from byte {place} on: {shown(body[place : place + 20])}"


def _coding_difference(response: Response, coding: str) -> str | None:
    found, wanted = response.headers.get("content-encoding", _IDENTITY), coding or _IDENTITY
    if found != wanted:
        return (
            f"the response is compressed ({found})"
            if wanted == _IDENTITY
            else f"the response is not compressed ({found})"
        )
    varies = [name.strip() for name in response.headers.get("vary", "").lower().split(",")]
    return "header Vary does not name Accept-Encoding" if coding and "accept-encoding" not in varies else None


def _date_difference(text: str) -> str | None:
    try:
        age_s = (datetime.now(UTC) - parsedate_to_datetime(text)).total_seconds()
    except (ValueError, TypeError):
        return f"header Date is {text!r}, which is no HTTP date"
    return f"header Date is {age_s:.0f} s old" if abs(age_s) > _OLDEST_DATE_S else None


def _json_difference(expected: Mapping[str, object], body: bytes) -> str | None:
    try:
        return first_difference(expected, plain(parse(body).root))
    except ContractError as error:
        return f"the body {shown(body)} is no JSON: {error}"


def _no_json(body: bytes) -> str | None:
    try:
        parse(body)
    except ContractError as error:
        return f"the body {shown(body)} is no JSON: {error}"
    return None


def _error_difference(body: bytes) -> str | None:
    try:
        response = plain(parse(body).root)
    except ContractError as error:
        return f"the error {shown(body)} is no JSON: {error}"
    if (
        isinstance(response, dict)
        and set(response) == {"error"}
        and isinstance(response["error"], str)
        and response["error"]
    ):
        return None
    return f'the error is {shown(body)} instead of {{"error":"…"}}'


# Long bodies are expected again and again: of every codec, before and after every measurement.
@lru_cache(maxsize=64)
def _normalised(sent: bytes) -> dict[str, object]:
    return normalised(decode(sent))
