"""Figures as small SVG: text stays text in the page's font, colours follow the page, and marks tell their system and value.

Matplotlib writes what it draws at full length. Here identifiers, styles and coordinates become short, and what the page decides
(ink, ground, font) is left to it. Names of systems come from outside: each is escaped here.
"""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from runners.present.kit.dots import join_dots
from runners.present.kit.palette import BAD, BAND, FAINT, GOOD, INK, MUTED, PAPER, QUIET, RULE

if TYPE_CHECKING:
    from bs4 import Tag

_QUIET = "var(--wb-quiet)"
_OF_THE_PAGE = {
    INK: "currentColor",
    RULE[:7]: "currentColor",
    BAND[:7]: "currentColor",
    **dict.fromkeys((QUIET, FAINT, MUTED), _QUIET),
    PAPER: "var(--wb-paper)",
    GOOD: "var(--wb-good)",
    BAD: "var(--wb-bad)",
}
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_AROUND_COMMAND = re.compile(r" ?([A-Za-z]) ?")
_COLOR = re.compile("|".join(map(re.escape, _OF_THE_PAGE)))
_REFERENCE = re.compile(r"url\(#([^)]*)\)")
_LEFT_OUT = {"metadata", "style", "title"}
_DEFAULTS = re.compile(
    r"(font-family|stroke-linejoin): .*|(opacity|fill-opacity): 1|text-anchor: start|stroke-linecap: (butt|square)|font: .*"
)
_PLAIN_STYLE = re.compile(r"[\w\s:;,.#%()-]+")  # nothing in it ends a rule or a style sheet
_UNTURNED = re.compile(r"rotate\(-?0 [^)]*\)")

# Of SVG, what a report keeps, in lower case as the HTML parser reads it. None of it runs or loads anything.
_TAGS = {"svg", "g", "path", "use", "defs", "clippath", "rect", "text", "title"}
_ATTRIBUTES = {
    "d", "x", "y", "width", "height", "viewbox", "transform", "style", "class", "role", "aria-label", "id", "href", "clip-path",
    "data-system",
}  # fmt: skip


def mark(artist: Artist, system: str, said: str = "") -> None:
    """Mark what belongs to a system: scripts hide it, and a pointer that rests on it shows the words `said`."""
    artist.set_gid(json.dumps([system, said]))


def small_svg(figure: Figure, name: str, prefix: str) -> str:
    """Return a figure as SVG markup for a page.

    Parameters
    ----------
    name : str
        Name of the picture, for those who cannot see it.
    prefix : str
        Beginning of the identifiers, which are unique in a page.
    """
    out = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "wrkbook"}):
        FigureCanvasSVG(figure).print_svg(out, metadata={"Date": None})  # type: ignore[no-untyped-call]
    root = ElementTree.fromstring(_NOT_XML.sub("\ufffd", out.getvalue()))  # noqa: S314  (see above)
    join_dots(root)
    _, _, width, height = (float(part) for part in root.attrib["viewBox"].split())
    inside = "".join(_Short(root, prefix).markup(child) for child in root)
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width * 4 / 3:.0f}" height="{height * 4 / 3:.0f}"'
    return f'<svg {size} role="img" aria-label="{escape(name)}">{inside}</svg>'


class _Short:
    """The elements of one SVG as short markup."""

    def __init__(self, root: ElementTree.Element, prefix: str) -> None:
        used = [value for each in root.iter() for value in each.attrib.values()]
        targets = {match for value in used for match in _REFERENCE.findall(value)}
        targets |= {value[1:] for each in root.iter() for key, value in each.items() if key.endswith("href")}
        self._names = {target: f"{prefix}{place}" for place, target in enumerate(sorted(targets))}

    def markup(self, element: ElementTree.Element) -> str:
        tag = element.tag.rpartition("}")[2]
        if tag in _LEFT_OUT:
            return ""
        words = escape(element.text or "") if tag == "text" else ""
        attributes, title = self._attributes(tag, element)
        styles = {child.get("style") for child in element}
        if tag == "g" and len(styles) == 1 and len(element) > 1 and None not in styles:
            # The same for all: said once.
            attributes["style"] = _style(styles.pop() or "")
            for child in element:
                del child.attrib["style"]
        inside = title + words + "".join(self.markup(child) for child in element)
        if (tag in ("g", "defs") and not inside) or (tag == "g" and not attributes) or _is_unseen(tag, attributes):
            return inside
        shown = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
        return f"<{tag}{shown}>{inside}</{tag}>" if inside else f"<{tag}{shown}/>"

    def _attributes(self, tag: str, element: ElementTree.Element) -> tuple[dict[str, str], str]:
        found, title = dict[str, str](), ""
        for key, value in element.items():
            name = key.rpartition("}")[2]
            if name == "id":
                if value in self._names:
                    found["id"] = self._names[value]
                elif value.startswith("["):
                    found["data-system"], said = json.loads(value)
                    title = f"<title>{escape(said)}</title>" if said else ""
            elif name == "href":
                found["href"] = f"#{self._names[value[1:]]}"
            elif name == "style":
                found["style"] = _style(value)
            elif name == "clip-path":
                found[name] = _REFERENCE.sub(lambda match: f"url(#{self._names[match[1]]})", value)
            elif name == "d":
                found[name] = _AROUND_COMMAND.sub(r"\1", _rounded(value))
            else:
                found[name] = _rounded(_UNTURNED.sub("", value))
        return {name: value for name, value in found.items() if value}, title


def _is_unseen(tag: str, attributes: Mapping[str, str]) -> bool:
    """Return whether a path paints nothing, such as the ground of a panel."""
    return tag == "path" and "id" not in attributes and attributes.get("style") == "fill:none"


def _rounded(text: str) -> str:
    return re.sub(r"\s+", " ", _NUMBER.sub(lambda match: f"{round(float(match[0]), 1):g}", text)).strip()


def _style(text: str) -> str:
    parts = [part.strip() for part in text.split(";")]
    kept = ";".join(part for part in parts if part and not _DEFAULTS.fullmatch(part))
    return _COLOR.sub(lambda match: _OF_THE_PAGE[match[0]], kept).replace(": ", ":")


def keep_inert(svg: Tag) -> None:
    """Remove from an SVG element of a page all that is not a plain drawing, whoever made it."""
    for tag in svg.find_all(True):
        if tag.name not in _TAGS:
            tag.decompose()
    for tag in [svg, *svg.find_all(True)]:
        tag.attrs = {
            name: value for name, value in tag.attrs.items() if name in _ATTRIBUTES and _is_inside(name, value)
        }


def share_styles(page: Tag) -> str:
    """Make classes of what many elements of a page's SVG repeat as ``style``, and return their rules.

    A quarter of a report would be such repetitions; a page that has rules of its own for parts of a drawing must not call this.
    """
    styled = [tag for tag in _parts(page) if "style" in tag.attrs and _PLAIN_STYLE.fullmatch(str(tag["style"]))]
    counts = Counter(str(tag["style"]) for tag in styled)
    names = {text: f"s{place}" for place, (text, count) in enumerate(counts.most_common()) if count > 1}
    for tag in styled:
        if name := names.get(str(tag["style"])):
            del tag["style"]
            tag["class"] = " ".join([*filter(None, tag.get_attribute_list("class")), name])
    # In drawings only: highlighted code has classes of these names, too.
    return "\n".join(f"svg .{name}{{{text}}}" for text, name in names.items())


def number_names(page: Tag) -> None:
    """Number the names of the parts of all SVG of a page, which are unique already, and much longer."""
    parts = _parts(page)
    named = [tag for tag in parts if "id" in tag.attrs]
    names = {str(tag["id"]): f"i{place}" for place, tag in enumerate(named)}
    for tag in named:
        tag["id"] = names[str(tag["id"])]
    for tag in parts:
        if "href" in tag.attrs:
            target = str(tag["href"]).removeprefix("#")
            tag["href"] = f"#{names.get(target, target)}"
        if "clip-path" in tag.attrs:
            refers = str(tag["clip-path"])
            tag["clip-path"] = _REFERENCE.sub(lambda found: f"url(#{names.get(found[1], found[1])})", refers)


def _parts(page: Tag) -> list[Tag]:
    """Return all elements inside the drawings of a page, in their order."""
    drawings = [svg for svg in page.find_all("svg") if svg.find_parent("svg") is None]
    return [part for svg in drawings for part in svg.find_all(True)]


def _is_inside(name: str, value: Any) -> bool:  # noqa: ANN401  (text, or a list of classes)
    """Return whether an attribute refers to nothing but parts of the same page."""
    if name == "href":
        return str(value).startswith("#")
    return not re.search(r"url\((?!#)|[\\@]|expression", str(value)) if name in ("style", "clip-path") else True
