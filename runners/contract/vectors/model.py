"""Golden vectors: what they are, how `servers/contract/vectors.json` holds them, and the bytes that they send."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypedDict

from runners.contract.decoder.reference import BODY_LIMIT_BYTES, judge, normalised
from runners.core.specification import Expectation
from runners.core.workloads import named

PATH = Path(__file__).resolve().parents[3] / "servers" / "contract" / "vectors.json"
AS_SENT = "as sent"

# An echo longer than this is not written out: such a body has no unknown members, so that its echo is what was sent.
_LONGEST_ECHO_CHARACTERS = 4000

_ABOUT = {
    "about": "Requests and their responses. Written by: python -m runners.contract --write-vectors",
    "workloads": "The workloads that a vector is for. None: it is for the server as a whole, and names its path.",
    "request": "method: unless given, POST for discard, decode and roundtrip, else GET. path: instead of the served one. "
    "suffix: appended to it. parameters: of the path, percent-encoded already. headers: in the place of those of the workload, "
    "which for gzip are Accept-Encoding: gzip.",
    "body": "text (as UTF-8), or base64, or parts: each a text, or a piece to repeat, with another between.",
    "expect": "status: one, or several that are allowed. receipt: the response of decode. echo: the response of roundtrip; "
    "'as sent': it equals the request. text, json: the responses of other workloads. greeting: message and ts, the present "
    "time in this form. rows: an array of so many rows of the table. numbers: an object of so many. objects: an array of so many "
    "objects of ten numbers. coding: the content coding, gzip or identity, with Vary. posts: a page of so many. file: the content "
    "of this file in data/. With 400 and 503 comes an error object.",
    "quick": "Whether the vector is one of the few that are tried before every measurement.",
    "backend": "false: the vector is for the time while the database is away, not for the usual one.",
}


class BodyPart(TypedDict, total=False):
    """A part of a long body: a text, or a piece to repeat."""

    text: str
    repeat: str
    times: int
    between: str


class Body(TypedDict, total=False):
    """The body of a request in one of three forms."""

    text: str
    base64: str
    parts: list[BodyPart]


class RequestParts(TypedDict, total=False):
    """The parts of a request that differ from the usual one."""

    method: str
    path: str
    suffix: str
    parameters: dict[str, str]
    headers: dict[str, str]
    body: Body


@dataclass(frozen=True)
class Vector:
    """One request and its response; the members are explained in the file."""

    name: str
    workloads: tuple[str, ...]
    request: RequestParts = field(default_factory=RequestParts)
    expect: Expectation = field(default_factory=Expectation)
    quick: bool = False
    backend: bool = True

    @cached_property
    def body(self) -> bytes | None:
        """Return the bytes of the request body; None if the request has none."""
        return body_bytes(self.request["body"]) if "body" in self.request else None

    @property
    def statuses(self) -> frozenset[int]:
        """Return the statuses that are allowed."""
        status = self.expect["status"]
        return frozenset([status] if isinstance(status, int) else status)


def for_batch(name: str, body: str | bytes | list[BodyPart], *statuses: int, quick: bool = False) -> Vector:
    """Return a vector for decode and roundtrip; the reference decoder says what is expected.

    Parameters
    ----------
    name : str
        A sentence.
    body : str | bytes | list[BodyPart]
        Text, bytes, or the parts of a long text (see the file).
    *statuses : int
        Statuses that the author of the vector means to show. One that the reference decoder does not agree with is an error.
    """
    spec: Body = {"parts": body} if isinstance(body, list) else body_spec(body)
    verdict = judge(body_bytes(spec))
    if verdict.statuses != set(statuses):
        raise ValueError(
            f"{name}: the reference decoder says {sorted(verdict.statuses)} ({verdict.reason}), not {statuses}"
        )
    expect: Expectation = {"status": statuses[0] if len(statuses) == 1 else list(statuses)}
    if verdict.batch is not None and verdict.receipt is not None:
        echo = {name: _readable(member) for name, member in normalised(verdict.batch).items()}
        long = len(json.dumps(echo)) > _LONGEST_ECHO_CHARACTERS
        expect["receipt"] = {name: _whole(number) for name, number in verdict.receipt.as_json().items()}
        expect["echo"] = AS_SENT if long else echo
    return Vector(name, (*named(gives="receipt"), *named(gives="echo")), {"body": spec}, expect, quick)


def body_spec(body: str | bytes) -> Body:
    """Return the body of a stored request."""
    if isinstance(body, str):
        return {"text": body}
    try:
        return {"text": body.decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(body).decode()}


def body_bytes(spec: Body) -> bytes:
    """Return the bytes that the body of a stored request stands for."""
    if "text" in spec:
        return str(spec["text"]).encode()
    if "base64" in spec:
        return base64.b64decode(spec["base64"])
    return b"".join(_part_bytes(part) for part in spec["parts"])


def load(path: Path = PATH) -> tuple[Vector, ...]:
    """Read the stored vectors."""
    stored = json.loads(path.read_text(encoding="utf-8"))["vectors"]
    return tuple(Vector(**{**vector, "workloads": tuple(vector["workloads"])}) for vector in stored)


def dump(vectors: Iterable[Vector]) -> str:
    """Return the text of the file: one line for each member of a vector."""
    about = json.dumps(_ABOUT, indent=2).removesuffix("\n}")
    return f'{about},\n  "vectors": [\n' + ",\n".join(_vector_text(vector) for vector in vectors) + "\n  ]\n}\n"


def stretched(text: str, piece: str, times: int, between: str = "") -> list[BodyPart]:
    """Return the parts of a long body: `text` with its one @ replaced by so many pieces."""
    before, after = text.split("@")
    repeat: BodyPart = {"repeat": piece, "times": times}
    if between:
        repeat["between"] = between
    return [{"text": before}, repeat, {"text": after}]


def padded_to_limit(text: str, excess: int = 0) -> list[BodyPart]:
    """Return the parts of a body that trailing spaces bring to 4 MiB and `excess` bytes."""
    return [{"text": text}, {"repeat": " ", "times": BODY_LIMIT_BYTES + excess - len(text.encode())}]


def _vector_text(vector: Vector) -> str:
    members: dict[str, object] = {"name": vector.name, "workloads": vector.workloads}
    members |= {"quick": True} if vector.quick else {}
    members |= {} if vector.backend else {"backend": False}
    members |= {"request": vector.request, "expect": vector.expect}
    lines = [f"{json.dumps(name)}: {json.dumps(member, ensure_ascii=False)}" for name, member in members.items()]
    return "    {" + ",\n     ".join(lines) + "}"


def _part_bytes(part: BodyPart) -> bytes:
    if "text" in part:
        return str(part["text"]).encode()
    return str(part.get("between", "")).join([part["repeat"]] * part["times"]).encode()


def _readable(value: object) -> object:
    """Return JSON values with whole numbers written as such."""
    if isinstance(value, dict):
        return {name: _readable(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_readable(element) for element in value]
    return _whole(value) if isinstance(value, float) else value


def _whole(number: float) -> float:
    """Return a number that is whole, and exact as a double, as an int."""
    return int(number) if float(number).is_integer() and abs(number) < 2**53 else number
