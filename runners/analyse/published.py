"""Published measurements, read from the recorded output of their tools in ``data/raw/published``.

Each number has one place, the file in which it was published; ``sources.toml`` says which file is what. The parsers of
our own runs read them all. They come from other machines: beside our own figures, never mixed with them.
"""

from __future__ import annotations

import csv
import math
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Literal, TypeVar

import pandas as pd
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from runners.core.errors import WrkbookError
from runners.core.project import PUBLISHED
from runners.core.records import Row, percentile_column
from runners.core.units import parse_count, parse_duration
from runners.generators import autocannon_text, wrk_text

T = TypeVar("T")


class Written(BaseModel):
    """Data that people write: an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PublishedWorkload(Written):
    """A workload at a number of connections; None: it was published at one only."""

    name: str
    connections: int | None = None


class PublishedFile(Written):
    """A tool's output of one run, or a table; `unit` is that of bare durations, `repeats` marks what stands elsewhere."""

    name: str
    place: str
    tool: Literal["wrk", "autocannon", "table"]
    experiment: str
    system: str | None = None
    workload: str | None = None
    unit: str = ""
    repeats: bool = False


class Source(Written):
    """One published benchmark; `systems` and `workloads` give the names in its tables the workbook's.

    `generator` printed its figures; `versions` are those that it states, by program.
    """

    title: str
    url: str = ""
    documents: tuple[str, ...]
    machine: str
    generator: Literal["wrk", "autocannon", "perf-gauge"]
    versions: dict[str, str] = {}
    cpu: str = ""
    server: str = ""
    load: str
    threads_count: int | None = None
    connections_count: int | None = None
    systems: dict[str, str] = {}
    workloads: dict[str, str] = {}
    files: tuple[PublishedFile, ...]


def sources(folder: Path = PUBLISHED) -> dict[str, Source]:
    """Return the published benchmarks by name; errors as of :func:`read_toml`."""
    return read_toml(folder / "sources.toml", dict[str, Source])


@cache
def published_workloads(folder: Path = PUBLISHED) -> dict[str, PublishedWorkload]:
    """Return label → workload, of those that were published at several numbers of connections; errors as of :func:`read_toml`."""
    return read_toml(folder / "workloads.toml", dict[str, PublishedWorkload])


def read_toml(path: Path, kind: type[T]) -> T:
    """Return the content of a TOML file, validated as `kind`.

    Raises
    ------
    WrkbookError
        When it is no TOML, or not as it must be; names the file, the field with its entry's name or number from 0, and why.
    """
    try:
        return TypeAdapter(kind).validate_python(tomllib.loads(path.read_text(encoding="utf-8")))
    except tomllib.TOMLDecodeError as error:
        raise WrkbookError(f"{path}: {error}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        about = (str(path), ".".join(map(str, first["loc"])), first["msg"].removeprefix("Value error, "))
        raise WrkbookError(": ".join(filter(None, about))) from error


def figures(folder: Path = PUBLISHED) -> pd.DataFrame:
    """Return all published figures, a row per source × system × workload.

    Columns
    -------
    source, experiment, system, workload, workload_name, shape_connections_count, machine, generator;
    throughput_rps, p50_s …, max_s, mean_s, stddev_s, tm99_s, requests_count,
    duration_s, errors_count, rss_peak_bytes, build_s with its CPU times, offered_rps. What was not published is NaN. Latencies are as
    printed: wrk's after its correction.
    """
    rows = [
        {"source": name, "machine": source.machine, "generator": source.generator, **row}
        for name, source in sources(folder).items()
        for file in source.files
        if not file.repeats
        for row in read_file(folder / name / file.name, source, file)
    ]
    levels = published_workloads(folder)
    for row in rows:
        label = str(row["workload"])
        level = levels.get(label, PublishedWorkload(name=label))
        row |= {"workload_name": level.name, "shape_connections_count": level.connections}
    # One cell may have figures from a tool's output and from a sentence beside it: the first of each column counts.
    keys = ["source", "experiment", "system", "workload"]
    return pd.DataFrame(rows).groupby(keys, sort=False, as_index=False).first()


def published_values(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the published figures with a throughput, for the systems and workloads in `cells`."""
    known = figures().dropna(subset=["throughput_rps"])
    return known.merge(cells[["system", "workload"]], on=["system", "workload"])


def read_file(path: Path, source: Source, file: PublishedFile) -> Iterable[Row]:
    """Return the rows of one file: experiment, system, workload, and what was published of them."""
    if file.tool == "table":
        return _table(path, source, file)
    parse = {"wrk": _wrk, "autocannon": _autocannon}[file.tool]
    about: Row = {"experiment": file.experiment, "system": file.system, "workload": file.workload}
    return [about | parse(path.read_text(encoding="utf-8"))]


def _wrk(text: str) -> dict[str, float]:
    parsed = wrk_text.parse_text(text)
    return {
        "throughput_rps": parsed.throughput_rps.value,
        **{percentile_column(at): value.value for at, value in parsed.percentiles_s.items()},
        "max_s": parsed.latency_s.max.value,
        "mean_s": parsed.latency_s.mean.value,
        "stddev_s": parsed.latency_s.stddev.value,
        "requests_count": parsed.requests_count,
        "duration_s": parsed.duration_s.value,
        "errors_count": parsed.errors.total_count,
    }


def _autocannon(text: str) -> dict[str, float]:
    parsed = autocannon_text.parse_text(text)
    latency = parsed.latency
    found = {percentile_column(at): value for at, value in latency.percentiles_s.items()}
    found |= {"max_s": latency.max_s, "mean_s": latency.mean_s, "stddev_s": latency.stddev_s}
    return {
        "throughput_rps": parsed.requests.mean.value,
        # It counts whole milliseconds: 0 says only that a response took less than one.
        **{name: value or math.nan for name, value in found.items()},
        "duration_s": parsed.duration_s,
        "errors_count": parsed.errors_count.value,
    }


def _table(path: Path, source: Source, file: PublishedFile) -> Iterator[Row]:
    with path.open(encoding="utf-8", newline="") as lines:
        for line, row in enumerate(csv.DictReader(lines), start=2):
            try:
                system, workload = row.pop("system", None), row.pop("workload", None)
                yield {
                    "experiment": file.experiment,
                    "system": source.systems[system] if system else file.system,
                    "workload": source.workloads[workload] if workload else file.workload,
                    **dict(_number(column, text, file.unit) for column, text in row.items()),
                }
            except (KeyError, ValueError) as error:
                raise WrkbookError(f"{path}, line {line}: not known: {error}") from error


def _number(column: str, printed: str, unit: str) -> tuple[str, float]:
    metric, parse = _COLUMNS[column]
    # Written by hand: 109k, and 5.7K.
    text = printed.replace(",", "").replace("K", "k").strip()
    if not text or text.startswith("?"):
        return metric, math.nan
    return metric, parse(text + unit if parse is parse_duration else text)


def _elapsed(text: str) -> float:
    # ``0m0.466s``, as the shell's ``time`` prints it, or ``32 seconds``.
    found = re.fullmatch(r"(?:(\d+)m)?(\d+(?:\.\d+)?) ?s(?:econds)?", text)
    if found is None:
        raise ValueError(f"not a time: {text!r}")
    return int(found[1] or 0) * 60 + float(found[2])


# Column of a published table → our metric, and how to read its numbers.
_COLUMNS: dict[str, tuple[str, Callable[[str], float]]] = {
    **{f"{at}%": (percentile_column(at), parse_duration) for at in (50, 75, 90, 99)},
    **{f"p{at:g}": (percentile_column(at), parse_duration) for at in (50, 90, 99, 99.9, 99.99)},
    **{name: (f"{name}_s", parse_duration) for name in ("max", "tm99", "stddev")},
    "average latency": ("mean_s", parse_duration),
    **dict.fromkeys(("Req/sec", "Average Req/Sec", "qps"), ("throughput_rps", parse_count)),
    "connections per second": ("offered_rps", parse_count),
    # ``9.5Mb``: hardly bits.
    "peak memory": ("rss_peak_bytes", lambda text: float(text.removesuffix("Mb")) * 1e6),
    "real": ("build_s", _elapsed),
    "user": ("build_user_s", _elapsed),
    "sys": ("build_system_s", _elapsed),
}
