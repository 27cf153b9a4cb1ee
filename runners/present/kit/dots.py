"""Equal dots of a drawing as one element of SVG: a chart of ten thousand launches stays a small one."""

from __future__ import annotations

import re
from itertools import groupby
from xml.etree.ElementTree import Element

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_FILL = re.compile(r"fill: (?P<color>#[0-9a-f]{6})(?:; fill-opacity: (?P<opacity>[0-9.]+))?")
_CIRCLE = "MCCCCCCCCz"
"""The commands of a circle as Matplotlib writes it."""


def join_dots(root: Element) -> None:
    """Replace each row of equal dots of an SVG with one path, and join the groups that hold them.

    A dot of the path is a line without length. Its two ends are round, so it is a circle as wide as the stroke.
    """
    found = ((each.get("id"), _radius(each)) for each in root.iter() if _tag(each) == "path")
    radii = {f"#{name}": radius for name, radius in found if name and radius}
    for parent in list(root.iter()):
        _join_groups(parent)
        children = []
        for (target, style), row in groupby(parent, lambda child: (_target(child), child.get("style", ""))):
            dots, fill = list(row), _FILL.fullmatch(style)
            # As many as a path is shorter for.
            drawn = _path(dots, fill, radii[target]) if fill and target in radii and len(dots) > 1 else None
            children += dots if drawn is None else [drawn]
        parent[:] = children
    used = {_target(each) for each in root.iter()}
    for parent in root.iter():
        parent[:] = [child for child in parent if f"#{child.get('id')}" not in radii.keys() - used]


def _join_groups(parent: Element) -> None:
    """Join groups that stand beside each other and have the same clipping path, or the same mark (JSON), and nothing else."""
    kept: list[Element] = []
    for child in parent:
        joins = child.attrib.keys() == {"clip-path"} or (len(child.attrib) == 1 and child.get("id", "").startswith("["))
        if kept and joins and child.attrib == kept[-1].attrib:
            kept[-1].extend(child)
        else:
            kept.append(child)
    parent[:] = kept


def _path(dots: list[Element], fill: re.Match[str], radius: float) -> Element:
    points = "".join(f"M{dot.get('x')} {dot.get('y')}h0" for dot in dots)
    style = f"fill: none; stroke: {fill['color']}; stroke-width: {round(2 * radius, 1):g}; stroke-linecap: round"
    opacity = f"; stroke-opacity: {fill['opacity']}" if fill["opacity"] else ""
    return Element(dots[0].tag.replace("use", "path"), {"d": points, "style": style + opacity})


def _radius(path: Element) -> float | None:
    """Return the radius of a path that is a circle around 0 and has no style of its own; None of any other."""
    drawn = path.get("d", "")
    if path.get("style") or "".join(re.findall("[A-Za-z]", drawn)) != _CIRCLE:
        return None
    numbers = [float(number) for number in _NUMBER.findall(drawn)]
    radius = numbers[1]
    across = max(map(abs, numbers[::2]))
    return radius if numbers[0] == 0 and abs(across - radius) < 1e-3 * radius else None


def _target(element: Element) -> str:
    return next((value for name, value in element.items() if name.endswith("href")), "")


def _tag(element: Element) -> str:
    return element.tag.rpartition("}")[2]
