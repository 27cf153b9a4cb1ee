"""wrk's printing, modelled for the tests: from the fields of the exact line to the whole output.

``test_wrk.py`` holds the model to the recordings, character by character.
"""

import json
import math
from itertools import pairwise

from runners.core.load import Load
from runners.stats import histograms


def output(fields, load: Load, url="http://127.0.0.1:21400/", run="1s") -> str:
    """What wrk with wrk.lua prints for these fields."""
    return text(fields, load, url, run) + line(fields)


def line(fields) -> str:
    """The exact line: histograms, here pairs of value and count, as steps from one value to the next."""
    statistics = {
        name: {**fields[name], "histogram": steps(fields[name]["histogram"])} for name in ("latency_us", "thread_rps")
    }
    return "wrkbook " + json.dumps({**fields, **statistics}, separators=(",", ":")) + "\n"


def steps(pairs) -> str:
    values = [0, *(value for value, _ in pairs)]
    wide = [value - before for before, value in pairwise(values)]
    return " ".join(
        str(count) if step == 1 else f"{step}:{count}" for step, (_, count) in zip(wide, pairs, strict=True)
    )


def text(fields, load: Load, url, run) -> str:
    seconds = fields["duration_us"] / 1e6
    errors = fields["errors"]
    latency, rates = fields["latency_us"], fields["thread_rps"]
    lines = [
        f"Running {run} test @ {url}",
        f"  {load.threads} threads and {load.connections} connections",
        "  Thread Stats   Avg      Stdev     Max   +/- Stdev",
        _thread_stats("Latency", latency, duration),
        _thread_stats("Req/Sec", rates, metric),
        "  Latency Distribution",
        *(f"{q:7d}%{_padded(duration(_percentile(latency, q)), 10)}" for q in (50, 75, 90, 99)),
        f"  {fields['requests']} requests in {duration(fields['duration_us'])}, {binary(fields['bytes'])}B read",
    ]
    if any(errors[kind] for kind in ("connect", "read", "write", "timeout")):
        kinds = ", ".join(f"{kind} {errors[kind]}" for kind in ("connect", "read", "write", "timeout"))
        lines.append(f"  Socket errors: {kinds}")
    if errors["status"]:
        lines.append(f"  Non-2xx or 3xx responses: {errors['status']}")
    lines.append(f"Requests/sec: {fields['requests'] / seconds:9.2f}")
    lines.append(f"Transfer/sec: {binary(fields['bytes'] / seconds):>10}B")
    return "\n".join(lines) + "\n"


def statistics(histogram):
    """The exact line's part for one histogram."""
    values, counts = histogram.values_us, histogram.counts
    total = histogram.total_count
    return {
        "total": total,
        "min": values[0] if total else 0,
        "max": values[-1] if total else 0,
        "mean": histograms.mean(values, counts) if total else 0,
        "stdev": histograms.stddev(values, counts) if total > 1 else 0,
        "histogram": [list(pair) for pair in zip(values, counts, strict=True)],
    }


def duration(microseconds) -> str:
    if microseconds >= 1e6:
        return _scaled(microseconds / 1e6, 60, "s", ("m", "h"))
    return _scaled(microseconds, 1000, "us", ("ms", "s"))


def metric(number) -> str:
    return _scaled(number, 1000, "", ("k", "M", "G", "T", "P"))


def binary(number) -> str:
    return _scaled(number, 1024, "", ("K", "M", "G", "T", "P"))


def _scaled(number, scale, unit, larger) -> str:
    for name in larger[:-1]:  # wrk never reaches its last unit
        if number < 0.85 * scale:
            break
        number, unit = number / scale, name
    return f"{number:.2f}{unit}"


def _thread_stats(name, seen, form) -> str:
    columns = _padded(form(seen["mean"]), 8) + _padded(form(seen["stdev"]), 10) + _padded(form(seen["max"]), 9)
    return f"    {name:10}{columns}{_within(seen):>8}%"


def _within(seen) -> str:
    if not seen["total"]:
        return "-nan"
    low, high = seen["mean"] - seen["stdev"], seen["mean"] + seen["stdev"]
    return f"{100 * sum(count for value, count in seen['histogram'] if low <= value <= high) / seen['total']:.2f}"


def _padded(number, width) -> str:
    pad = 2 - sum(character.isalpha() for character in number[-2:])
    return number.rjust(width - pad) + " " * pad


def _percentile(seen, q):
    rank = math.floor(q * seen["total"] / 100 + 1)
    below = 0
    for value, count in seen["histogram"]:
        below += count
        if below >= rank:
            return value
    return 0
