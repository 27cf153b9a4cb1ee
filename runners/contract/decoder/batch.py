"""The batch as typed values: its bounds, its receipt, and its form for comparing echoes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from runners.contract.decoder.strict_json import ContractError, Members

MOST_ELEMENTS = 4096
MOST_CHARACTERS = 64

Value = str | float | bool | None


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
    """Turn a parsed root (see `strict.parse`) into a batch.

    Raises
    ------
    ContractError
        For a wrong type, a missing member, a broken bound, or a number that overflows.
    """
    operations = _array(_members(root, "the root"), "operations", at_least=1)
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


def normalised(batch: Batch) -> dict[str, Any]:
    """Return a batch as plain JSON values, without the members that were not given: two echoes agree if these do."""
    return {"operations": [_as_json(operation) for operation in batch.operations]}


def _as_json(operation: Operation) -> dict[str, Any]:
    body: dict[str, Any] = {"filters": [{"column": each.column, "value": each.value} for each in operation.filters]}
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
    operation = _members(value, "an operation")
    method = _text(operation, "method")
    if method != "POST":
        raise ContractError("method is not POST")
    body = _members(operation.get("body"), "body")
    columns = _array(body, "readColumns") if body.get("readColumns") is not None else None
    return Operation(
        method=method,
        relative_url=_text(operation, "relative-url", at_least=1),
        filters=tuple(_filter(each) for each in _array(body, "filters", at_least=1)),
        read_columns=None if columns is None else tuple(_read_column(each) for each in columns),
        operation_id=_optional_text(body, "operationId"),
    )


def _filter(value: object) -> Filter:
    members = _members(value, "a filter")
    if "value" not in members:
        raise ContractError("value is missing")
    content = members["value"]
    if not isinstance(content, str | float | bool | None):
        raise ContractError("value is an object or an array")
    if isinstance(content, float) and math.isinf(content):
        raise ContractError("value overflows a double")
    return Filter(_text(members, "column", at_least=1, at_most=MOST_CHARACTERS), content)


def _read_column(value: object) -> ReadColumn:
    members = _members(value, "an element of readColumns")
    column = _text(members, "column", at_least=1, at_most=MOST_CHARACTERS)
    return ReadColumn(column, _optional_text(members, "dataReturnType"))


def _members(value: object, what: str) -> dict[str, object]:
    """Return the members of an object; raise ContractError for anything else."""
    if not isinstance(value, Members):
        raise ContractError(f"{what} is not an object")
    return dict(value)


def _array(members: dict[str, object], name: str, at_least: int = 0) -> list[object]:
    """Return the array in a member; raise ContractError for anything else, and outside of its bounds."""
    value = members.get(name)
    if not isinstance(value, list):
        raise ContractError(f"{name} is not an array")
    if not at_least <= len(value) <= MOST_ELEMENTS:
        raise ContractError(f"{name} has {len(value)} elements, allowed are {at_least} to {MOST_ELEMENTS}")
    return value


def _text(members: dict[str, object], name: str, at_least: int = 0, at_most: float = math.inf) -> str:
    """Return the string in a member; raise ContractError for anything else, and outside of its bounds."""
    value = members.get(name)
    if not isinstance(value, str):
        raise ContractError(f"{name} is not a string")
    if not at_least <= len(value) <= at_most:
        raise ContractError(f"{name} has {len(value)} characters")
    return value


def _optional_text(members: dict[str, object], name: str) -> str | None:
    """Return the string in a member, or None where it is missing or null."""
    return None if members.get(name) is None else _text(members, name)
