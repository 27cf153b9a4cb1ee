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

    @cached_property
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the values and the counts as arrays, converted once."""
        return np.array(self.values_us, dtype=np.int64), np.array(self.counts, dtype=np.int64)

    @property
    def total_count(self) -> int:
        """Return the number of samples."""
        return sum(self.counts)
