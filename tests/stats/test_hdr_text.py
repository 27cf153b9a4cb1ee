"""HdrHistogram V2 text: decoded as its libraries do, and with fewer digits the text that they would write."""

import base64
import bisect
import json
import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from runners.stats.hdr_text import coarser, decoded
from runners.stats.histograms import percentiles


def hdr_text(counts, digits=3):
    """HdrHistogram V2 text from 100 ns on; `counts`: index of a bin → its count."""
    numbers, last = [], -1
    for index in sorted(counts):
        numbers += [last + 1 - index] if index > last + 1 else []
        numbers.append(counts[index])
        last = index
    payload = bytearray()
    for number in numbers:
        left = (number << 1) ^ (number >> 63)
        for _ in range(8):
            if left < 128:
                break
            payload.append(left & 127 | 128)
            left >>= 7
        payload.append(left)
    inner = struct.pack(">iiiiqqd", 0x1C849313, len(payload), 0, digits, 100, 3600 * 10**9, 1.0) + payload
    packed = zlib.compress(inner)
    return base64.b64encode(struct.pack(">ii", 0x1C849314, len(packed)) + packed).decode()


def bin_of(index, half_bits=10):
    """The lowest value and the width of a bin, in the words of HdrHistogram's ``valueFromIndex``."""
    half = 1 << half_bits
    bucket, place = (index >> half_bits) - 1, (index & (half - 1)) + half
    if bucket < 0:
        bucket, place = 0, place - half
    return place << (bucket + 6), 1 << (bucket + 6)


@given(st.dictionaries(st.integers(0, 20_000), st.integers(1, 2**62 - 1), max_size=50))
def test_hdrhistogram_text_is_decoded_to_the_middles_of_its_bins(counts):
    values, found = decoded(hdr_text(counts))
    assert found.tolist() == [counts[index] for index in sorted(counts)]
    for value, index in zip(values.tolist(), sorted(counts), strict=True):
        low, width = bin_of(index)
        assert value == low + width // 2


@pytest.mark.parametrize(
    "text",
    ["", "HISTFAAAADl4", "no base64", hdr_text({1: 2})[:-8], hdr_text({3: 4}).replace("H", "I"), hdr_text({1: 2**62})],
)
def test_what_is_no_hdrhistogram_text_is_refused(text):
    with pytest.raises(ValueError, match="no HdrHistogram V2 text"):
        decoded(text)


def samples(most):
    """Indices of bins and their counts; most of them small, as in a real histogram."""
    return st.dictionaries(st.integers(0, 20_000), st.integers(1, most), max_size=50)


@given(samples(2**40))
def test_fewer_digits_put_each_sample_into_the_wider_bin_that_holds_it(counts):
    edges = [bin_of(place, half_bits=7)[0] for place in range(4_000)]
    wider = {}
    for index, count in counts.items():
        low, _ = bin_of(index)
        place = bisect.bisect_right(edges, low) - 1
        wider[place] = wider.get(place, 0) + count
    made = coarser(hdr_text(counts), 2)
    assert [found.tolist() for found in decoded(made)] == [found.tolist() for found in decoded(hdr_text(wider, 2))]
    assert unpacked(made) == unpacked(hdr_text(wider, 2))


def unpacked(text):
    return zlib.decompress(base64.b64decode(text)[8:])


@given(samples(2**40), st.integers(1, 5))
def test_digits_are_only_ever_taken_away_and_no_sample_is_lost(counts, digits):
    text = hdr_text(counts)
    short = coarser(text, digits)
    assert (short == text) == (digits >= 3)
    assert coarser(short, digits) == short
    assert decoded(short)[1].sum() == decoded(text)[1].sum()


@pytest.mark.parametrize("name", ["response", "service", "lateness"])
def test_percentiles_of_a_real_recording_keep_two_digits(name):
    recorded = Path(__file__).parents[1] / "recorded" / "paceload" / "stalled.txt"
    text = json.loads(recorded.read_text())[name]["hdr"]
    exact, short = (percentiles(*decoded(each), [50, 90, 99, 99.9]) for each in (text, coarser(text, 2)))
    assert short == pytest.approx(exact, rel=0.005, abs=64)
    assert len(coarser(text, 2)) < len(text)


def test_text_that_is_none_has_no_coarser_form():
    with pytest.raises(ValueError, match="no HdrHistogram V2 text"):
        coarser("no base64", 2)
