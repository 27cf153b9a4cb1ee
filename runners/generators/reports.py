"""The report of a window's load: that of one load generator, or of several hosts' as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import fields

from runners.core.histogram import Histogram
from runners.core.load import Generator, GeneratorError, LoadErrors, LoadResult
from runners.core.trial_record import WindowRecord
from runners.stats.histograms import merge


def result_of(generator: Generator, window: WindowRecord) -> LoadResult:
    """Return what the parser makes of a window; the shares of several hosts as one.

    Raises
    ------
    GeneratorError
        When the parser refuses what a generator printed.
    """
    if not window.shares:
        return generator.parse(window.stdout, window.load)
    return combined(results_of_shares(generator, window))


def results_of_shares(generator: Generator, window: WindowRecord) -> list[LoadResult]:
    """Return what the parser makes of each host's share; errors as of :func:`result_of`."""
    found = []
    for number, share in enumerate(window.shares, 1):
        try:
            found.append(generator.parse(share.stdout, share.load))
        except GeneratorError as error:
            raise GeneratorError(f"on host {number} of the load generator: {error}") from error
    return found


def condense(generator: Generator, window: WindowRecord, *, coarse: bool) -> None:
    """Replace what was printed by its shorter form."""
    if not window.shares:
        window.stdout = generator.condensed(window.stdout, window.load, coarse=coarse)
    for share in window.shares:
        share.stdout = generator.condensed(share.stdout, share.load, coarse=coarse)
    if window.shares:
        window.stdout = ""


def combined(results: Sequence[LoadResult]) -> LoadResult:
    """Return the results of several hosts in one window as one.

    Throughputs are added, and so are the counts of histograms, from which each host's own correction was undone before. A percentile
    is read from that sum: percentiles of hosts are never averaged.
    """
    requests_count = sum(result.requests_count for result in results)
    throughput_rps = sum(result.throughput_rps for result in results)
    longest_s = max(result.duration_s for result in results)
    return LoadResult(
        requests_count=requests_count,
        # Requests in this time are the sum of the throughputs: hosts do not end in the same microsecond.
        duration_s=requests_count / throughput_rps if throughput_rps else longest_s,
        read_bytes=sum(result.read_bytes for result in results),
        connections_count=sum(result.connections_count for result in results),
        errors=LoadErrors(
            **{each.name: sum(getattr(result.errors, each.name) for result in results) for each in fields(LoadErrors)}
        ),
        service_time=merge(result.service_time for result in results),
        corrected=_merged(result.corrected for result in results),
        warnings=tuple(
            f"host {number}: {warning}" for number, result in enumerate(results, 1) for warning in result.warnings
        ),
        bodies_only=results[0].bodies_only,
        unseen_count=sum(result.unseen_count for result in results),
        scheduled_rps=_sum(result.scheduled_rps for result in results),
        response_time=_merged(result.response_time for result in results),
        lateness=_merged(result.lateness for result in results),
        # That of the busiest host, as in the samples.
        cpu_s=max((result.cpu_s for result in results if result.cpu_s is not None), default=None),
        sent_counts=_sum_by_name(result.sent_counts for result in results),
    )


def _merged(histograms: Iterable[Histogram | None]) -> Histogram | None:
    known = list(histograms)
    return merge(each for each in known if each) if all(known) else None


def _sum(counts: Iterable[float | None]) -> float | None:
    known = list(counts)
    return sum(count for count in known if count is not None) if None not in known else None


def _sum_by_name(counts: Iterable[dict[str, int] | None]) -> dict[str, int] | None:
    known = list(counts)
    if None in known:
        return None
    total = Counter[str]()
    for each in known:
        total.update(each)
    return dict(total)
