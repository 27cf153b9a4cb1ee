"""The reference decoder, slow and obvious: the strictest reading of the contract, to compare servers with.

It decodes a body to a batch of typed values, within their bounds, and makes its receipt and its form for comparing echoes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from runners.contract.decoder.strict_json import ContractError, array_in, members_of, optional_text_in, parse, text_in

MOST_CHARACTERS = 64

Value = str | float | bool | None

BODY_LIMIT_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class Filter:
    """One condition: a column and the value that it must have."""

    column: str
    value: Value


@dataclass(frozen=True)
class ReadColumn:
    """One column to be read; `data_return_type` is None when it was not given."""

    column: str
    data_return_type: str | None


@dataclass(frozen=True)
class Operation:
    """One operation; `read_columns` and `operation_id` are None when they were not given."""

    method: str
    relative_url: str
    filters: tuple[Filter, ...]
    read_columns: tuple[ReadColumn, ...] | None
    operation_id: str | None


@dataclass(frozen=True)
class Batch:
    """The decoded root."""

    operations: tuple[Operation, ...]


@dataclass(frozen=True)
class Receipt:
    """The response that proves that a server decoded every member; `text_bytes` counts UTF-8 bytes."""

    operations: int
    filters: int
    read_columns: int
    nulls: int
    text_bytes: int
    number_sum: float

    def as_json(self) -> dict[str, int | float]:
        """Return the receipt under the member names of the contract."""
        return {
            "operations": self.operations,
            "filters": self.filters,
            "readColumns": self.read_columns,
            "nulls": self.nulls,
            "textBytes": self.text_bytes,
            "numberSum": self.number_sum,
        }


def typed(root: object) -> Batch:
    """Convert a parsed root (see `strict_json.parse`) into a batch.

    Raises
    ------
    ContractError
        For a wrong type, a missing member, a broken bound, or a number that overflows.
    """
    operations = array_in(members_of(root, "the root"), "operations", at_least=1)
    return Batch(tuple(_operation(one) for one in operations))


def summed(batch: Batch) -> Receipt:
    """Return the receipt of a batch.

    Raises
    ------
    ContractError
        If the sum of the numbers overflows a double on the way, in document order.
    """
    filters = [each for operation in batch.operations for each in operation.filters]
    columns = [each for operation in batch.operations for each in operation.read_columns or ()]
    texts = [text for operation in batch.operations for text in (operation.method, operation.relative_url)]
    texts += [each.column for each in filters] + [each.value for each in filters if isinstance(each.value, str)]
    texts += [each.column for each in columns] + [each.data_return_type or "" for each in columns]
    texts += [operation.operation_id or "" for operation in batch.operations]
    number_sum = 0.0
    for each in filters:
        if isinstance(each.value, float):
            number_sum += each.value
        if math.isinf(number_sum):
            raise ContractError("the sum of the numbers overflows a double")
    return Receipt(
        operations=len(batch.operations),
        filters=len(filters),
        read_columns=len(columns),
        nulls=sum(each.value is None for each in filters),
        text_bytes=sum(len(text.encode("utf-8")) for text in texts),
        number_sum=number_sum,
    )


def normalised(batch: Batch) -> dict[str, object]:
    """Return a batch as plain JSON values, without the members that were not given: two echoes agree if these do."""
    return {"operations": [_as_json(operation) for operation in batch.operations]}


def _as_json(operation: Operation) -> dict[str, object]:
    body: dict[str, object] = {"filters": [{"column": each.column, "value": each.value} for each in operation.filters]}
    if operation.read_columns is not None:
        body["readColumns"] = [
            {"column": each.column}
            if each.data_return_type is None
            else {"column": each.column, "dataReturnType": each.data_return_type}
            for each in operation.read_columns
        ]
    if operation.operation_id is not None:
        body["operationId"] = operation.operation_id
    return {"method": operation.method, "relative-url": operation.relative_url, "body": body}


def _operation(value: object) -> Operation:
    operation = members_of(value, "an operation")
    method = text_in(operation, "method")
    if method != "POST":
        raise ContractError("method is not POST")
    body = members_of(operation.get("body"), "body")
    columns = array_in(body, "readColumns") if body.get("readColumns") is not None else None
    return Operation(
        method=method,
        relative_url=text_in(operation, "relative-url", at_least=1),
        filters=tuple(_filter(each) for each in array_in(body, "filters", at_least=1)),
        read_columns=None if columns is None else tuple(_read_column(each) for each in columns),
        operation_id=optional_text_in(body, "operationId"),
    )


def _filter(value: object) -> Filter:
    members = members_of(value, "a filter")
    if "value" not in members:
        raise ContractError("value is missing")
    content = members["value"]
    if not isinstance(content, str | float | bool | None):
        raise ContractError("value is an object or an array")
    if isinstance(content, float) and math.isinf(content):
        raise ContractError("value overflows a double")
    return Filter(text_in(members, "column", at_least=1, at_most=MOST_CHARACTERS), content)


def _read_column(value: object) -> ReadColumn:
    members = members_of(value, "an element of readColumns")
    column = text_in(members, "column", at_least=1, at_most=MOST_CHARACTERS)
    return ReadColumn(column, optional_text_in(members, "dataReturnType"))


@dataclass(frozen=True)
class BodyVerdict:
    """The contract's verdict about a body.

    Attributes
    ----------
    statuses : frozenset[int]
        The statuses that it allows: one, or 200 and 400 where it leaves the response open.
    batch : Batch | None
        The batch that the echo of a response with status 200 must agree with; None where 200 is refused or nothing more is required.
    receipt : Receipt | None
        The receipt of such a response; None likewise.
    reason : str
        Why the body is refused or left open; empty for an accepted one.
    """

    statuses: frozenset[int]
    batch: Batch | None = None
    receipt: Receipt | None = None
    reason: str = ""


def judge(body: bytes) -> BodyVerdict:
    """Return the statuses that a request body may get, and what a 200 must hold.

    Never raises: a refused body has a verdict, too.
    """
    if len(body) > BODY_LIMIT_BYTES:
        return BodyVerdict(frozenset({413}), reason="more than 4 MiB")
    try:
        document = parse(body)
    except ContractError as error:
        return BodyVerdict(frozenset({400}), reason=str(error))
    if document.repeated:
        return BodyVerdict(frozenset({200, 400}), reason="a member given twice")
    try:
        batch = typed(document.root)
        proof = summed(batch)
    except ContractError as error:
        return BodyVerdict(frozenset({400}), reason=str(error))
    if document.overflowing:
        return BodyVerdict(frozenset({200, 400}), batch, proof, "a number in an ignored member overflows a double")
    return BodyVerdict(frozenset({200}), batch, proof)


def decode(body: bytes) -> Batch:
    """Decode a body of any size into a batch; of a repeated member the last one counts.

    Raises
    ------
    ContractError
        If the contract refuses the body with status 400.
    """
    return typed(parse(body).root)


def receipt(body: bytes) -> Receipt:
    """Decode a body of any size and return its receipt.

    Raises
    ------
    ContractError
        If the contract refuses the body with status 400.
    """
    return summed(decode(body))
