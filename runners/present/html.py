"""An executed notebook as one HTML file, and its charts as PNG files."""

from __future__ import annotations

import base64
import hashlib
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

import nbformat
from bs4 import BeautifulSoup, Tag
from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup
from nbconvert.exporters import HTMLExporter, TemplateExporter
from nbconvert.filters import DataTypeFilter, Highlight2HTML
from nbconvert.utils.base import NbConvertBase
from PIL import Image
from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]
from traitlets.config import Config

from runners.present.kit.folding import fold, leave_out_empty
from runners.present.kit.markup import LEFT, REPORT, TEMPLATES, style, unbroken
from runners.present.kit.svg import keep_inert, number_names, share_styles

_PNG, _WEBP = (f"data:image/{kind};base64," for kind in ("png", "webp"))
HIDDEN_TAG = "hide-report"

_ACTIVE = ("script", "iframe", "object", "embed", "link", "meta", "base", "form", "style", "video", "audio")
_WIDE_COLUMNS = 10
_ENDS_OF_EMPTY = re.compile(r"></(?:path|use|rect)>")
"""Ends of elements of drawings that hold nothing: ``/>`` says as much, and a page has thousands. All text is escaped."""


@dataclass(frozen=True)
class Entry:
    """One line of the table of contents."""

    level: int
    text: str
    anchor: str


def write_report(
    notebook_path: Path,
    html_path: Path,
    *,
    title: str,
    headline: str = "",
    facts: Mapping[str, str] | None = None,
    links: Mapping[str, str] | None = None,
) -> Path:
    """Write an executed notebook as a self-contained HTML report.

    Parameters
    ----------
    notebook_path : Path
        Executed notebook; cells tagged ``hide-report`` are left out, and so is what was printed.
    html_path : Path
        File to write.
    title : str
        Title of the report; it takes the place of the notebook's own first heading.
    headline : str
        The one sentence under the title.
    facts : Mapping[str, str] | None
        What the title block states, for example date, profile and machine.
    links : Mapping[str, str] | None
        Name → relative path, for example of the index or the raw data.

    Raises
    ------
    ValueError
        When a link is not a relative path.
    """
    body = _body(notebook_path)
    contents = _prepare(body)
    number_names(body)
    drawn = share_styles(body)
    page = render(
        "report.html.j2",
        title=title,
        kind="report",
        extra_style="\n".join([HtmlFormatter(style="bw").get_style_defs(".code .highlight"), drawn]),
        headline=headline,
        facts=list((facts or {}).items()),
        links=[(name, relative_link(target)) for name, target in (links or {}).items()],
        contents=contents,
        body=Markup(_ENDS_OF_EMPTY.sub("/>", str(body))),  # noqa: S704  (nbconvert's template escaped it)
        **_script(),
    )
    html_path.write_text(page, encoding="utf-8")
    return html_path


def render(template: str, *, extra_style: str = "", **values: object) -> str:
    """A page from one of the templates; every value is escaped but those that are markup already."""
    environment = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True)
    environment.filters["unbroken"] = lambda text: Markup(unbroken(text))  # noqa: S704  (it escapes)
    css = "\n".join([style(), (TEMPLATES / "page.css").read_text(encoding="utf-8"), extra_style])
    return environment.get_template(template).render(style=Markup(css), **values)  # noqa: S704  (our own files)


def _script() -> dict[str, object]:
    """The script of reports, and the hash by which the page's policy allows it and no other."""
    text = (TEMPLATES / "report.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return {"script": Markup(text), "script_hash": f"sha256-{digest}"}  # noqa: S704  (our own file)


def relative_link(target: str) -> str:
    """A relative path as a link.

    Raises
    ------
    ValueError
        When it names a host or a scheme, or starts at the root.
    """
    parts = urlsplit(target)
    if parts.scheme or parts.netloc or target.startswith(("/", "\\")):
        raise ValueError(f"not a relative path: {target!r}")
    return quote(target, safe="/#._-~")


def _body(notebook_path: Path) -> BeautifulSoup:
    """The notebook's cells as markup, without those that are hidden."""
    notebook = nbformat.read(notebook_path, as_version=4)  # type: ignore[no-untyped-call]
    notebook.cells = [cell for cell in notebook.cells if HIDDEN_TAG not in cell.metadata.get("tags", [])]
    shown = [REPORT, *NbConvertBase().display_data_priority]
    config = Config(
        TemplateExporter={"extra_template_basedirs": [str(TEMPLATES)]}, NbConvertBase={"display_data_priority": shown}
    )
    exporter = HTMLExporter(template_name="report", config=config)  # type: ignore[no-untyped-call]
    exporter.register_filter("highlight_code", Highlight2HTML(pygments_lexer="ipython3", parent=exporter))  # type: ignore[no-untyped-call]
    exporter.register_filter("filter_data_type", DataTypeFilter(parent=exporter))  # type: ignore[no-untyped-call]
    # HTMLExporter's own method parses the page once more to describe pictures; our template describes them.
    html, _ = TemplateExporter.from_notebook_node(exporter, notebook)
    body = BeautifulSoup(html, "html.parser")
    # No selectors, here and below: each takes a tenth of a second in a page of ten thousand elements.
    for image in body.find_all("img"):
        if (source := str(image.get("src", ""))).startswith(_PNG):
            image["src"] = _WEBP + _as_webp(source.removeprefix(_PNG))
    return body


def _as_webp(png: str) -> str:
    """A picture in base64 without loss as WebP, which every browser shows and which takes a quarter less space."""
    out = io.BytesIO()
    Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB").save(out, "WEBP", lossless=True)
    return base64.b64encode(out.getvalue()).decode()


def _prepare(body: BeautifulSoup) -> list[Entry]:
    """Take out what could act, make anchors unique, mark wide tables; return the table of contents."""
    for tag in body.find_all(_ACTIVE):
        tag.decompose()
    for tag in body.find_all(True):
        for name in [name for name in tag.attrs if name.startswith("on")]:
            del tag[name]
    for svg in body.find_all("svg"):
        keep_inert(svg)
    for link in body.find_all("a"):
        if not _is_harmless(str(link.get("href", ""))):
            del link["href"]
    for image in body.find_all("img"):
        if not str(image.get("src", "")).startswith("data:"):
            image.replace_with(f"[image: {image.get('alt', '')}]")
    for anchor in body.find_all("a", class_="anchor-link"):
        anchor.decompose()
    for table in body.find_all("table", class_="wb-table"):
        for tag in table.find_all(True):
            if f' style="{tag.get("style", "")}"' == LEFT:
                del tag["style"]
    if first := body.find("h1"):
        first.decompose()
    leave_out_empty(body)
    fold(body)
    for scroll in body.find_all("div", class_="wb-scroll"):
        head = scroll.find("tr")
        if isinstance(head, Tag) and len(head.find_all("th")) >= _WIDE_COLUMNS:
            scroll["class"] = "wb-scroll wide"
    return [_entry(number, heading) for number, heading in enumerate(body.find_all(["h2", "h3"]), start=1)]


def _is_harmless(target: str) -> bool:
    """Return whether a link only leads somewhere: the Content-Security-Policy would stop the others, but need not."""
    try:
        # Browsers overlook white space and control characters in a scheme; nothing that we link to has any.
        return target.isprintable() and " " not in target and urlsplit(target).scheme in ("", "http", "https")
    except ValueError:
        return False


def _entry(number: int, heading: Tag) -> Entry:
    """A heading's line in the table of contents; the number keeps two headings of one text apart."""
    text = heading.get_text(" ", strip=True)
    words = "".join(letter if letter.isalnum() else "-" for letter in text.lower())
    heading["id"] = anchor = f"{number}-{words.strip('-')}"
    return Entry(int(heading.name[1]), text, anchor)


def write_figures(notebook_path: Path, folder: Path) -> list[Path]:
    """Write each chart of an executed notebook as ``figure-NN.png``, in its order, into `folder`; earlier ones are removed."""
    notebook = nbformat.read(notebook_path, as_version=4)  # type: ignore[no-untyped-call]
    shown = [output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", [])]
    charts = [base64.b64decode(data["image/png"]) for data in shown if "image/png" in data]
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("figure-*.png"):
        old.unlink()
    paths = [folder / f"figure-{number:02d}.png" for number in range(1, len(charts) + 1)]
    for path, chart in zip(paths, charts, strict=True):
        path.write_bytes(chart)
    return paths
