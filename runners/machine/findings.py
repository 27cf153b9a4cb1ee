"""What a preflight says about one subject, and reading what the kernel shows without ever failing on it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Level = Literal["good", "advice", "problem"]

CPU_FOLDER = Path("sys/devices/system/cpu")


@dataclass(frozen=True)
class Finding:
    """One subject of the preflight.

    Attributes
    ----------
    name : the subject
    level : good: nothing to do; advice: wrkbook measures, but less well; problem: it cannot measure at all
    detail : what was found
    remedy : what to do about it, as a command where there is one; empty when there is nothing to do
    """

    name: str
    level: Level
    detail: str
    remedy: str = ""


def not_exposed(name: str, detail: str = "") -> Finding:
    """The finding for what this machine does not tell: nothing is wrong, and nothing is known."""
    return Finding(name, "good", f"not exposed: {detail}" if detail else "not exposed by this machine")


def text_of(path: Path) -> str:
    """The text of a file of ``/proc`` or ``/sys`` without the blanks around it; empty when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except (OSError, ValueError):
        return ""


def numbers_in(text: str) -> list[int]:
    """The words of a text as whole numbers; empty as soon as one word is none that the kernel could have written."""
    words = text.split()
    return [int(word) for word in words] if all(re.fullmatch(r"[0-9]{1,20}", word) for word in words) else []


def percent(share: float) -> str:
    """A share of 1 with one digit: ``2.5 %``."""
    return f"{share:.1%}".replace("%", " %")
