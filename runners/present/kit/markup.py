"""HTML that is safe to show: everything that came from outside is escaped here, and nowhere else built by hand."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from runners.core.units import sort_value

TEMPLATES = Path(__file__).parents[1] / "templates"

# The report shows text/html of these fragments only; a server's text cannot set the metadata of an output.
MARK = "wrkbook"
# What an untrusted notebook shows: it drops our style sheet, and keeps plain attributes. A report leaves them out.
LEFT = ' style="text-align: left"'
_INLINE = ' style="display: inline-block; vertical-align: top; border: 1px solid; margin: 2px; padding: 3px"'
_TOGETHER = re.compile(
    r"(?<=\d) (?=(?:[%×]|ns|µs|ms|s|min|k|M|kB|B|[KMG]iB)(?![\w]))|(?<=[kM]) (?=requests)|(?<=\d) (?=to [\d−])|(?<=\d to) (?=[\d−])"
)
REPORT = "application/vnd.wrkbook.report+json"
"""Of an output, the markup that a report shows in the place of what a notebook shows: a notebook has no SVG before it is trusted."""


@dataclass(frozen=True)
class Fragment:
    """A piece of HTML that a notebook shows when it is a cell's last value.

    Attributes
    ----------
    html : str
        Escaped markup.
    text : str
        The same in plain text, for terminals.
    in_notebook : str
        The same without SVG, which a notebook shows trusted only; empty where it has none.
    """

    html: str
    text: str
    in_notebook: str = ""

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<style>{style()}</style>{self.plain}"

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, Any], dict[str, dict[str, bool]]]:
        data: dict[str, Any] = {"text/html": self._repr_html_(), "text/plain": self.text}
        if self.in_notebook:
            data[REPORT] = {"html": self.html}
        return data, {name: {MARK: True} for name in data if name != "text/plain"}

    @property
    def plain(self) -> str:
        """The markup without SVG."""
        return self.in_notebook or self.html


@dataclass(frozen=True)
class TableCell:
    """One cell of a table: its text, a smaller note under it, and how it is set (a class of ``fragment.css``).

    Attributes
    ----------
    choices : Mapping[str, tuple[str, str]] | None
        Name of a baseline → text and note that a report's script puts there when that baseline is chosen.
    """

    text: str
    note: str = ""
    kind: str = ""
    choices: Mapping[str, tuple[str, str]] | None = None

    @property
    def html(self) -> str:
        """The cell as markup."""
        # A space, as an untrusted notebook shows the note without our style, beside the text.
        note = f" <small>{unbroken(self.note)}</small>" if self.note else ""
        value = sort_value(self.text)
        sorted_by = f' data-v="{value:.6g}"' if value is not None else ""
        choices = f' data-choices="{escape(json.dumps(self.choices))}"' if self.choices else ""
        kind = f' class="{escape(self.kind)}"' if self.kind else ""
        return f"<td{kind}{LEFT if self.is_words else ''}{sorted_by}{choices}>{escape(self.text)}{note}</td>"

    @property
    def is_words(self) -> bool:
        """Return whether it is aligned to the left, unlike a number."""
        return not {"name", "words", "long", "good", "half", "warn", "bad"}.isdisjoint(self.kind.split())


@dataclass(frozen=True)
class Group:
    """Rows of a table under a heading of their own; no heading when the title is empty."""

    title: str
    rows: Sequence[Sequence[TableCell]]


@dataclass(frozen=True)
class Box:
    """A small box of a map: its text, its colours side by side (none: hollow), and what it says to who points at it."""

    text: str
    colors: Sequence[str] = ()
    hint: str = ""

    @property
    def html(self) -> str:
        """The box as markup."""
        share = 100 / len(self.colors) if self.colors else 0
        stops = ", ".join(
            f"{color} {place * share:.4g}% {(place + 1) * share:.4g}%" for place, color in enumerate(self.colors)
        )
        filled = f' style="background: linear-gradient(90deg, {escape(stops)})"' if stops else ""
        hint = f' title="{escape(self.hint)}"' if self.hint else ""
        return f'<span class="wb-box{" wb-filled" if stops else ""}"{filled}{hint}>{escape(self.text)}</span>'


@dataclass(frozen=True)
class Frame:
    """A frame of a map around boxes and other frames, with a title; `kind` is a class of ``fragment.css``."""

    title: str
    inside: Sequence[Frame | Box]
    kind: str = ""

    def markup(self, inline: str = "") -> str:
        """Return the frame as markup; `inline` is a style attribute for what a notebook shows without our style sheet."""
        title = f"<small>{escape(self.title)}</small> " if self.title else ""
        inside = "".join(part.markup(inline) if isinstance(part, Frame) else f"{part.html} " for part in self.inside)
        return f'<div class="wb-frame {escape(self.kind)}"{inline}>{title}{inside}</div>'


def map_of(frames: Sequence[Frame], legend: Sequence[tuple[Box, str]], description: str) -> Fragment:
    """A map of nested frames under its legend, which wraps on narrow screens; `description` is for those who cannot see it."""
    entries = "".join(f"<li>{box.html} {escape(text)}</li>" for box, text in legend)
    shown, in_notebook = (
        f'<ul class="wb-legend">{entries}</ul><div class="wb-map" role="img" aria-label="{escape(description)}">'
        f"{''.join(frame.markup(inline) for frame in frames)}</div>"
        for inline in ("", _INLINE)
    )
    return Fragment(shown, description, in_notebook)


def style() -> str:
    """The style sheet of all fragments."""
    return (TEMPLATES / "fragment.css").read_text(encoding="utf-8")


def table(caption: str, heads: Sequence[tuple[str, str]], groups: Sequence[Group]) -> Fragment:
    """A table with a caption; ``heads`` are pairs of a name and its unit, the first column names the row."""
    parts = [
        f'<div class="wb-scroll" tabindex="0"><table class="wb-table"><caption{LEFT}>{escape(caption)}</caption><thead><tr>'
    ]
    rows = [row for group in groups for row in group.rows]
    for place, (head, unit) in enumerate(heads):
        # Words now and then, as where a number is missing, do not make a column of words.
        kind = ' class="name"' if 2 * sum(row[place].is_words for row in rows) > len(rows) else ""
        side = LEFT if kind or not place else ""
        parts.append(
            f'<th scope="col"{kind}{side}>{escape(head)}{f" <small>{escape(unit)}</small>" if unit else ""}</th>'
        )
    parts.append("</tr></thead>")
    lines = [caption, "\t".join(f"{head} [{unit}]" if unit else head for head, unit in heads)]
    for group in groups:
        parts.append("<tbody>")
        if group.title:
            title = f'<span class="wb-stay">{escape(group.title)}</span>'
            parts.append(f'<tr><th scope="rowgroup" colspan="{len(heads)}" class="wb-group"{LEFT}>{title}</th></tr>')
            lines.append(group.title)
        for first, *rest in group.rows:
            head = f"{escape(first.text)}{f' <small>{escape(first.note)}</small>' if first.note else ''}"
            cells = "".join(cell.html for cell in rest)
            kind = f' class="{escape(first.kind)}"' if first.kind else ""
            parts.append(f'<tr><th scope="row"{kind}{LEFT}>{head}</th>{cells}</tr>')
            lines.append("\t".join(f"{cell.text} {cell.note}".strip() for cell in (first, *rest)))
        parts.append("</tbody>")
    parts.append("</table></div>")
    return Fragment("".join(parts), "\n".join(lines))


def folded(title: str, inside: Fragment, *, is_open: bool = False) -> Fragment:
    """A fragment under a line that folds it away and out again; without any script."""
    state = " open" if is_open else ""
    head, end = f'<details class="wb-fold"{state}><summary>{escape(title)}</summary>', "</details>"
    return _around(head, inside, end, f"{title}\n{inside.text}")


def _around(head: str, inside: Fragment, end: str, text: str) -> Fragment:
    in_notebook = f"{head}{inside.in_notebook}{end}" if inside.in_notebook else ""
    return Fragment(f"{head}{inside.html}{end}", text, in_notebook)


def picture(png: bytes, description: str, width: int, height: int) -> Fragment:
    """A picture with its description, at a size in pixels of the screen."""
    data = base64.b64encode(png).decode()
    size = f'width="{width}" height="{height}"'
    html = f'<figure><img src="data:image/png;base64,{data}" {size} alt="{escape(description)}"></figure>'
    return Fragment(html, description)


def filtered(title: str, kinds: Sequence[str], inside: Fragment) -> Fragment:
    """A fragment with a box for each kind of row, which hides those rows when it is cleared; without any script.

    The rows of the kind at place n are those whose first cell is set as :func:`row_kind` of n.
    """
    boxes = "".join(
        f'<label><input type="checkbox" checked class="{row_kind(place)}">{escape(kind)}</label>'
        for place, kind in enumerate(kinds)
    )
    head = f'<div class="wb-filtered"><p class="wb-filter"><span>{escape(title)}</span>{boxes}</p>'
    return _around(head, inside, "</div>", inside.text)


def row_kind(place: int) -> str:
    """The class of ``fragment.css`` that marks rows of the kind at `place`."""
    return f"wb-kind-{place}"


def unbroken(text: str) -> str:
    """A sentence as markup, escaped, in which no line ends between a number and its unit, or within an interval."""
    return _TOGETHER.sub("&nbsp;", escape(text))


def joined(*fragments: Fragment) -> Fragment:
    """Several fragments, one under the other."""
    in_notebook = "".join(part.plain for part in fragments) if any(part.in_notebook for part in fragments) else ""
    html, text = "".join(part.html for part in fragments), "\n\n".join(part.text for part in fragments)
    return Fragment(html, text, in_notebook)


def dotted_facts(value: Any, name: str = "") -> Iterator[tuple[str, str]]:  # noqa: ANN401  (whatever JSON holds)
    """Yield nested facts under dotted names, as text."""
    if isinstance(value, Mapping) and value:
        for key, part in value.items():
            yield from dotted_facts(part, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list | tuple) and not any(isinstance(part, Mapping) for part in value):
        yield name, ", ".join(map(str, value)) or "–"
    elif isinstance(value, list | tuple):
        for place, part in enumerate(value, start=1):
            yield from dotted_facts(part, f"{name}.{place}")
    else:
        yield name, "–" if value is None or value == {} else str(value)
