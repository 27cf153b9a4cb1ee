"""Draw the picture of docs/reports.md: the upper part of the reference report of 02, with a note beside each part.

Run it after the reference report was made again: ``.venv/bin/python docs/make_picture.py``. Chromium comes from the tests' image.
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from runners.core.project import PROCESSED, PROJECT
from tests.e2e.browser import browser

REPORT = "02-json-decode/reference/report.html"
PICTURE = PROJECT / "docs" / "report.png"
WIDTH_PX, COLORS, MARGIN_PX = 1366, 96, 12
# What a note points at, how far below its upper edge the note begins, and the note.
NOTES = [
    ("main header dl", 0, "When, where, and how much was measured."),
    (".wb-answer", -8, "The answer: who leads, by how much, with 95 % intervals."),
    (
        ".wb-table",
        72,
        "The decision table, best first. n counts launches; limit is what kept the throughput from being higher.",
    ),
    ("figure.wb-chart", -8, "The main chart. Its title is its message."),
    ("main h3", 0, "How sure: interval, control, and valid trials."),
    ("nav ol", 0, "Further questions, limits of the run, and all details."),
]

_DRAW = """
(notes) => {
  const boxes = notes.map(([selector]) => {
    const found = document.querySelector(selector);
    if (!found) throw new Error("the report has no " + selector);
    return found.getBoundingClientRect();
  });
  notes.forEach(([selector, below, text], place) => {
    const box = boxes[place], aside = selector.startsWith("nav");
    const left = aside ? box.left : 1140, top = aside ? box.bottom + 76 : box.top + below;
    const note = document.createElement("div");
    note.textContent = (place + 1) + "  " + text;
    note.style.cssText = `position:absolute;left:${left}px;top:${top}px;width:196px;padding:6px 9px;border-left:3px solid #d55e00;` +
      "background:#fff4e6;color:#1f2328;font:13px/1.4 DejaVu Sans,sans-serif;z-index:9";
    document.body.append(note);
  });
  const headings = [...document.querySelectorAll("main h2")];
  return headings[1].getBoundingClientRect().top;
}
"""


def picture(page: Any, url: str) -> bytes:  # noqa: ANN401  (Playwright's own)
    """Return the annotated upper part of a report as a PNG file."""
    page.goto(url)
    height = page.evaluate(_DRAW, NOTES)
    shot = page.screenshot(full_page=True, clip={"x": 0, "y": 0, "width": WIDTH_PX, "height": height - MARGIN_PX})
    small = io.BytesIO()
    Image.open(io.BytesIO(shot)).convert("RGB").quantize(COLORS).save(small, format="png", optimize=True)
    return small.getvalue()


def main() -> None:
    """Write the picture."""
    with tempfile.TemporaryDirectory(prefix="wrkbook-") as scratch, browser(PROCESSED, Path(scratch)) as chromium:
        page = chromium.new_page(viewport={"width": WIDTH_PX, "height": 900})
        PICTURE.write_bytes(picture(page, f"file:///src/{REPORT}"))


if __name__ == "__main__":
    main()
