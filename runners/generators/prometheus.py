"""Decode a push to a Prometheus gateway in the protocol-buffer form: gauges and histograms.

The messages are those of metrics.proto in prometheus/client_model: ``MetricFamily`` has a name (field 1) and metrics (4);
``Metric`` labels (1), a gauge (2) and a histogram (7); ``Histogram`` its total count (1) and cumulative buckets (3).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

Field = tuple[int, int | float | bytes]


@dataclass(frozen=True)
class Family:
    """The metrics of one name.

    Attributes
    ----------
    gauges : by the values of their labels
    buckets : of the histogram, upper bound → samples in this bucket alone, the empty ones left out
    samples_count : of the histogram, with those above the last bound
    """

    gauges: dict[tuple[str, ...], float]
    buckets: dict[float, int]
    samples_count: int


def decode(pushed: bytes) -> dict[str, Family]:
    """All families of one push, by name.

    Raises
    ------
    ValueError
        When these are not whole messages of that form.
    """
    families, at = {}, 0
    try:
        while at < len(pushed):
            length, at = _varint(pushed, at)
            if at + length > len(pushed):
                raise ValueError("a message is cut off")
            name, family = _family(pushed[at : at + length])
            families[name] = family
            at += length
    except (IndexError, struct.error, UnicodeDecodeError, AttributeError, TypeError, KeyError) as error:
        raise ValueError(f"not a push of metrics: {error!r}") from error
    return families


def _family(message: bytes) -> tuple[str, Family]:
    name, total = "", 0
    gauges: dict[tuple[str, ...], float] = {}
    buckets: dict[float, int] = {}
    for number, value in _fields(message):
        if number == 1:
            name = _text(value)
        elif number == 4:
            labels: list[str] = []
            for part, content in _fields(_bytes(value)):
                if part == 1:
                    labels.append(_text(dict(_fields(_bytes(content)))[2]))
                elif part == 2:
                    gauges[tuple(labels)] = float(dict(_fields(_bytes(content))).get(1, 0.0))
                elif part == 7:
                    buckets, total = _histogram(_bytes(content))
    return name, Family(gauges, buckets, total)


def _histogram(message: bytes) -> tuple[dict[float, int], int]:
    buckets: dict[float, int] = {}
    below, total = 0, 0
    for number, value in _fields(message):
        if number == 1:
            total = int(value)
        elif number == 3:
            bucket = dict(_fields(_bytes(value)))
            cumulative = int(bucket.get(1, 0))
            if cumulative < below:
                raise ValueError("a histogram's cumulative counts fall")
            if cumulative > below:
                buckets[float(bucket.get(2, 0.0))] = cumulative - below
            below = cumulative
    return buckets, total


def _fields(message: bytes) -> Iterator[Field]:
    """The fields of a message: number and value, in the order sent."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(message, at)
            yield key >> 3, value
        elif kind == 1:
            yield key >> 3, struct.unpack_from("<d", message, at)[0]
            at += 8
        elif kind == 2:
            length, at = _varint(message, at)
            if at + length > len(message):
                raise ValueError("a field is cut off")
            yield key >> 3, message[at : at + length]
            at += length
        else:
            raise ValueError(f"a field of kind {kind}, which metrics do not have")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _bytes(value: int | float | bytes) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError("a number stands where a message should")
    return value


def _text(value: int | float | bytes) -> str:
    return _bytes(value).decode()
