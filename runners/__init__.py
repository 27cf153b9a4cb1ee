"""wrkbook: measures web servers on equal work, and shows what it found."""

import sys

__version__ = "0.1.0"

# jsonschema's check of IRIs builds a grammar for over a second on import, in each process; nothing here has IRIs to check.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
