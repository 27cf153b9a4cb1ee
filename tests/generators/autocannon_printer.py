"""autocannon's printing, modelled for the tests: from what was measured to the whole output."""

import json
import math
from datetime import UTC, datetime, timedelta

from runners.generators.steps import print_steps
from runners.stats import histograms


def output(seen, errors, non_2xx, read_bytes, milliseconds, load) -> str:
    """What autocannon.js prints after a window."""
    fields = result(seen, errors, non_2xx, read_bytes, milliseconds)
    # Each worker thread has a share of everything; here the first has it all.
    nothing = {"histogram_us": "", "errors": dict.fromkeys(errors, 0), "connected": 0}
    steps = print_steps(zip(seen.values_us, seen.counts, strict=True))
    first = {"histogram_us": steps, "errors": errors, "connected": load.connections}
    threads = [first, *[nothing] * (load.threads - 1)]
    return text(fields, load) + f"autocannon {json.dumps(fields)}\nwrkbook {json.dumps(threads)}\n"


def result(seen, errors, non_2xx, read_bytes, milliseconds):
    """autocannon's own result, as far as it is read."""
    cut, total = [value // 1000 for value in seen.values_us], seen.total_count
    p50, p99 = (int(at) for at in histograms.percentiles(cut, seen.counts, [50, 99])) if total else (0, 0)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    times = [at.isoformat(timespec="milliseconds") for at in (start, start + timedelta(milliseconds=milliseconds))]
    average = math.ceil(histograms.mean(cut, seen.counts) * 100) / 100 if total else 0
    return {
        "start": times[0],
        "finish": times[1],
        "duration": round(milliseconds / 10) / 100,
        "errors": sum(errors.values()),
        "timeouts": errors["timeout"],
        "non2xx": non_2xx,
        "latency": {"average": average, "p50": p50, "p99": p99, "totalCount": total},
        "requests": {"total": total, "sent": total + 8},
        "throughput": {"total": read_bytes},
    }


def text(fields, load) -> str:
    """The tables, with zeros where nothing is compared."""
    latency, errors = fields["latency"], fields["errors"]
    lines = [f"Running {load.duration_s}s test @ http://127.0.0.1:21400/", f"{load.connections} connections"]
    lines += [f"{load.threads} workers"] if load.threads > 1 else []
    cells = [0, latency["p50"], 0, latency["p99"], latency["average"], 0, 0]
    lines += ["", "", *table("Stat 2.5% 50% 97.5% 99% Avg Stdev Max", [["Latency", *(f"{cell} ms" for cell in cells)]])]
    rows = [["Req/Sec", *["1,234.5"] * 7], ["Bytes/Sec", *["8.4 MB"] * 7]]
    lines += [*table("Stat 1% 2.5% 50% 97.5% Avg Stdev Min", rows), ""]
    lines += ["Req/Bytes counts sampled every 0.1 seconds.", "# of samples: 3", ""]
    if fields["non2xx"]:
        lines.append(
            f"{fields['requests']['total'] - fields['non2xx']} 2xx responses, {fields['non2xx']} non 2xx responses"
        )
    sent, read = count(fields["requests"]["sent"]), size(fields["throughput"]["total"])
    lines.append(f"{sent} requests in {fields['duration']}s, {read} read")
    lines += [f"{count(errors)} errors ({count(fields['timeouts'])} timeouts)"] if errors else []
    return "\n".join(lines) + "\n"


def table(header, rows):
    """A table with box-drawing characters."""
    lines = [f"│ {' │ '.join(map(str, row))} │" for row in [header.split(), *rows]]
    return ["┌──┬──┐", "\n├──┼──┤\n".join(lines), "└──┴──┘"]


def count(number) -> str:
    """A count, in thousands from 1000 on."""
    return str(number) if number < 1000 else f"{math.floor(number / 1000 + 0.5)}k"


def size(number) -> str:
    """Bytes with three significant digits, whose last zeros are left out."""
    exponent = min(int(math.log10(number)) // 3, 4) if number else 0
    return f"{float(f'{number / 1000**exponent:.3g}'):g} {['B', 'kB', 'MB', 'GB', 'TB'][exponent]}"
