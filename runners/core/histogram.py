"""A histogram of times, as load generators print it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]


class Histogram:
    """Counts of service times in whole microseconds: values ascending and unique, counts positive. It is never changed."""

    def __init__(self, values_us: Sequence[int] | Counts, counts: Sequence[int] | Counts) -> None:
        self.arrays = np.asarray(values_us, dtype=np.int64), np.asarray(counts, dtype=np.int64)

    # Tuples are made where they are read: ten thousand trials have millions of bins.
    @cached_property
    def values_us(self) -> tuple[int, ...]:
        """Return the values."""
        return tuple(self.arrays[0].tolist())

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """Return the count of each value."""
        return tuple(self.arrays[1].tolist())

    @property
    def total_count(self) -> int:
        """Return the number of samples."""
        return int(self.arrays[1].sum())

    def __eq__(self, other: object) -> bool:
        """Return whether another one has the same counts of the same values."""
        return isinstance(other, Histogram) and all(map(np.array_equal, self.arrays, other.arrays))

    def __hash__(self) -> int:
        """Return a hash of the counts."""
        return hash((self.values_us, self.counts))

    def __repr__(self) -> str:
        """Return the expression that makes it."""
        return f"Histogram({self.values_us}, {self.counts})"
