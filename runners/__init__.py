"""wrkbook: measures web servers on equal work, and shows what it found."""

import atexit
import gc
import sys

__version__ = "0.1.0"

# jsonschema's check of IRIs builds a grammar for over a second on import, in each process; nothing here has IRIs to check.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

# Tables and drawings are millions of objects that live long and rarely form reference cycles: to search them for garbage as often as
# Python does by default takes a tenth of a report's time.
gc.set_threshold(100_000, 20, 20)
# Nor at the end, where that takes half a second.
atexit.register(gc.freeze)
