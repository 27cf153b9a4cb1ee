"""The end of what a process prints; the rest is let go, so that no disk and no memory fills up, however much it is."""

from __future__ import annotations

import os
import threading

_CHUNK_BYTES = 64 * 1024
_JOIN_S = 0.5


class Tail:
    """A pipe that is always read, and remembers the last `most_bytes`.

    Attributes
    ----------
    descriptor : for the process to write to; :meth:`started` closes it here once the process has its own
    """

    def __init__(self, most_bytes: int = 4096) -> None:
        reading, self.descriptor = os.pipe()
        self._most_bytes, self._last = most_bytes, b""
        self._thread = threading.Thread(target=self._read, args=(reading,), daemon=True)
        self._thread.start()

    def started(self) -> None:
        """Leave the writing end to the process: the pipe ends with the last that holds it."""
        os.close(self.descriptor)

    def text(self, *, ended: bool) -> str:
        """What it printed last; of a process that has ended, all that was still on its way too."""
        if ended:
            self._thread.join(_JOIN_S)
        return self._last.decode(errors="replace").strip()

    def _read(self, reading: int) -> None:
        with os.fdopen(reading, "rb", buffering=0) as pipe:
            while chunk := pipe.read(_CHUNK_BYTES):
                self._last = (self._last + chunk)[-self._most_bytes :]
