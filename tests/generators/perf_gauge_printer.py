"""perf-gauge's printing, logging and pushing, modelled for the tests: from what was measured to the whole output."""

import json
import struct

from runners.generators.perf_gauge_push import readable
from runners.generators.perf_gauge_report import LATENCIES


def output(succeeded, failed, responses, body_bytes, duration_ns, lost) -> str:
    """What perf_gauge_push.py prints after a run; `responses` must add up to the samples."""
    requests = succeeded.total_count + failed.total_count
    values = [*succeeded.values_us, *failed.values_us]
    latencies = dict.fromkeys(LATENCIES, max(values, default=0))
    seconds, nanoseconds = divmod(duration_ns, 10**9)
    report = {
        "duration": {"secs": seconds, "nanos": nanoseconds},
        "total_bytes": body_bytes,
        "total_requests": requests,
        "response_code_summary": [list(pair) for pair in responses.items()],
        "latency_summary": [list(pair) for pair in latencies.items()],
    }
    push = gauge("bytes_count", body_bytes) + gauge("request_count", requests)
    push += histogram("success_latency", succeeded) + histogram("error_latency", failed)
    return "\n".join(
        [
            *text(requests, responses, body_bytes, duration_ns, latencies),
            f"report {json.dumps({'combined': report, 'by_operation': {}})}",
            "Done gauging performance. Exiting.",
            f"lost {lost}",
            f"pushed {readable(push)}",
            "",
        ]
    )


def text(requests, responses, body_bytes, duration_ns, latencies):
    """The lines for people."""
    seconds = duration_ns / 1e9
    rate = (
        sum(count for what, count in responses.items() if what.startswith("2")) * 100 / requests if requests else "NaN"
    )
    yield from ["Test: perf-gauge", f"Duration {seconds:.9f}s ", f"Requests: {requests} "]
    yield f"Request rate: {requests / seconds:.3f} per second"
    yield f"Success rate: {rate:.3f}%" if requests else "Success rate: NaN%"
    yield from [f"Total bytes: {size(body_bytes)} ", f"Bitrate: {body_bytes * 8 / seconds / 1e6:.3f} Mbps"]
    if responses:
        yield from ["", "Summary:", *(f"{what}: {count}" for what, count in responses.items())]
    yield from ["", "Latency:"]
    in_ms = min(latencies.values()) >= 1000
    for name, us in latencies.items():
        yield f"{name:7}: {f'{us / 1000:.2f}ms' if in_ms else f'{us}µs'}"
    yield from ["", "", "=" * 50]


def size(number) -> str:
    """Bytes with one decimal."""
    exponent = 0
    while number >= 1000 ** (exponent + 1) and exponent < 5:
        exponent += 1
    return f"{number / 1000**exponent:.1f} {'KMGTP'[exponent - 1]}B" if exponent else f"{number} B"


def gauge(name, value) -> bytes:
    """A family with one gauge."""
    return delimited(field(1, name.encode()) + field(4, field(2, double(1, value))))


def histogram(name, samples) -> bytes:
    """A family with one histogram: cumulative counts."""
    below, buckets = 0, b""
    for value, count in zip(samples.values_us, samples.counts, strict=True):
        below += count
        buckets += field(3, number(1, below) + double(2, value))
    return delimited(field(1, name.encode()) + field(4, field(7, number(1, below) + buckets)))


def delimited(message) -> bytes:
    """A message after its length."""
    return varint(len(message)) + message


def field(key, content) -> bytes:
    """A field of bytes."""
    return varint(key << 3 | 2) + delimited(content)


def number(key, value) -> bytes:
    """A field with a whole number."""
    return varint(key << 3) + varint(value)


def double(key, value) -> bytes:
    """A field with a floating-point number."""
    return varint(key << 3 | 1) + struct.pack("<d", value)


def varint(value) -> bytes:
    """Seven bits a byte, the lowest first."""
    out = b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])
