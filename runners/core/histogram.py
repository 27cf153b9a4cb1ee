"""A histogram of times, as load generators print it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Histogram:
    """Counts of service times in whole microseconds: two parallel tuples, values ascending and unique, counts positive."""

    values_us: tuple[int, ...]
    counts: tuple[int, ...]

    @classmethod
    def of(cls, values_us: NDArray[np.int64], counts: NDArray[np.int64]) -> Histogram:
        """Return the histogram of two arrays, which it keeps."""
        made = cls(tuple(values_us.tolist()), tuple(counts.tolist()))
        made.__dict__["arrays"] = (values_us, counts)
        return made

    @cached_property
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the values and the counts as arrays, converted once."""
        return np.array(self.values_us, dtype=np.int64), np.array(self.counts, dtype=np.int64)

    @property
    def total_count(self) -> int:
        """Return the number of samples."""
        return sum(self.counts)
