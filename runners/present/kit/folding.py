"""Details of a report: sections that stand at its end, folded, and open with one click; without any script."""

from __future__ import annotations

from bs4 import BeautifulSoup, Tag

FOLDED_TAG = "folded"
"""A heading cell with this tag, and all cells up to the next heading of its level or above, are details."""
TITLE = "Details"
_LEVELS = ("h1", "h2", "h3")


def fold(body: BeautifulSoup) -> None:
    """Move all sections whose heading is marked to the end of a report's body, and fold each of them."""
    sections = [_section(body, words) for words in _cells(body) if FOLDED_TAG in words["class"] and _level(words)]
    if not sections:
        return
    title = body.new_tag("h2")
    title.string = TITLE
    body.append(title)
    for section in sections:
        body.append(section)


def leave_out_empty(body: BeautifulSoup) -> None:
    """Remove each question under which a run has nothing to show: a heading of level 3 with no text, table or picture below it."""
    for words in _cells(body):
        heading = words.find("h3")
        if heading is None or words.get_text(strip=True) != heading.get_text(strip=True):
            continue
        inside = []
        for sibling in words.next_siblings:
            if isinstance(sibling, Tag) and _level(sibling):
                break
            inside.append(sibling)
        parts = [part for part in inside if isinstance(part, Tag) and "code" not in (part.get("class") or [])]
        if not any(part.get_text(strip=True) or part.find(["img", "svg", "table"]) for part in parts):
            for part in [words, *inside]:
                part.extract()


def _cells(body: BeautifulSoup) -> list[Tag]:
    """Return the markdown cells of a report."""
    return body.find_all("div", class_="words")


def _section(body: BeautifulSoup, words: Tag) -> Tag:
    """Take a marked heading and what follows it out of the body, and return them as one folded section."""
    level = _level(words)
    inside = []
    for sibling in words.next_siblings:
        if isinstance(sibling, Tag) and 0 < _level(sibling) <= level:
            break
        inside.append(sibling)
    section = body.new_tag("details", attrs={"class": "wb-fold section"})
    summary = body.new_tag("summary")
    heading = words.find(_LEVELS)
    if isinstance(heading, Tag):
        heading = heading.extract()
        heading.name = "h3"
        summary.append(heading)
    section.append(summary)
    section.append(words.extract())
    for sibling in inside:
        section.append(sibling.extract())
    return section


def _level(words: Tag) -> int:
    """Return the level of the heading that a markdown cell begins with; 0 for other cells."""
    if "words" not in (words.get("class") or []):
        return 0
    heading = words.find(_LEVELS)
    return int(heading.name[1]) if isinstance(heading, Tag) else 0
