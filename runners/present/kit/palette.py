"""The colours of charts: one hue for each framework, one shade of it for each of its decoders, and neutral inks.

Every colour has a contrast of at least 3 to white and to the dark page, so one drawing serves both. Hues follow Okabe and Ito
(Color Universal Design, 2008), and each has a marker of its own: colour is never the only difference.
"""

from __future__ import annotations

import colorsys
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import get_args

import pandas as pd
from matplotlib.colors import to_hex, to_rgb

from runners.core.records import CONTROL, Hue
from runners.core.run_manifest import Shade
from runners.present.kit.frames import ordered

# Legible on white and on black: a picture in a notebook does not know the theme around it. A report replaces them (kit.svg).
INK, QUIET, FAINT = "#74787d", "#767b81", "#787e85"
RULE, BAND = "#80858b4d", "#82878d38"
PAPER = "#fdfdfd"  # around what lies over other marks
GOOD, BAD = "#1a8766", "#c65a20"
MUTED = "#878d94"  # the A/A control's marks

_COLORS: dict[Hue, str] = {
    "blue": "#0072b2",
    "vermilion": "#d55e00",
    "green": "#009e73",
    "olive": "#8a7d1f",
    "sky": "#3c98cc",
    "purple": "#cc79a7",
    "violet": "#8660a8",
    "amber": "#bb8204",
    "crimson": "#c8384f",
    "teal": "#12858f",
}
HUES = tuple(_COLORS.values())
_HUES_BY_NAME = 8  # a new hue must not change those of old records
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "p", "h", "<")
# Contrast of 3 to white (luminance 1) below the one, to the dark page (0.009) above the other.
_DARKEST, _LIGHTEST = 0.13, 0.30
_ROTATED = 0.045  # of the colour circle, from the first shade to the last


@dataclass(frozen=True)
class Style:
    """Colour and marker of one system, in all charts."""

    color: str
    marker: str


def styles(cells: pd.DataFrame) -> dict[str, Style]:
    """Return the style of every system of `cells`: its recorded shade, else one that follows from its server's name.

    An old record has no shades: there a server's hue is that of its name's checksum, or the next free one.
    """
    rows = cells[cells["system"] != CONTROL].drop_duplicates("system")
    known = rows.get("shade", pd.Series(dtype=object))
    recorded = {name: shade for name, shade in zip(rows["system"], known, strict=False) if isinstance(shade, Shade)}
    others = rows[~rows["system"].isin(list(recorded))]
    hues = hues_by_name(others["server"], {shade.hue for shade in recorded.values()})
    for server, own in others.groupby("server", sort=False):
        systems = [*own.loc[own["codec"].isna(), "system"], *own.loc[own["codec"].notna(), "system"]]
        recorded |= {
            name: Shade(hue=hues[str(server)], place=place, of=len(systems)) for place, name in enumerate(systems)
        }
    found = {name: Style(colour(shade), marker(shade)) for name, shade in recorded.items()}
    return {name: found[name] for name in rows["system"]} | {CONTROL: Style(MUTED, "x")}


def hues_by_name(servers: Iterable[str], taken: Iterable[Hue] = ()) -> dict[str, Hue]:
    """Return a hue for each server, from the checksum of its name; two servers share one only where all are taken."""
    names = get_args(Hue)[:_HUES_BY_NAME]
    free, found = set(names) - set(taken), dict[str, Hue]()
    for server in sorted(ordered(servers), key=_checksum, reverse=True):
        free = free or set(names)
        wanted = (names[-1 - (_checksum(server) + step) % len(names)] for step in range(len(names)))
        found[server] = next(hue for hue in wanted if hue in free)
        free -= {found[server]}
    return found


def _checksum(name: str) -> int:
    return zlib.crc32(name.encode("utf-8", "replace"))


def colour(shade: Shade) -> str:
    """Return the colour of a shade: the hue itself when it is the only one, else from dark to light."""
    hue = _COLORS[shade.hue]
    if shade.of < 2:
        return hue
    part = shade.place / (shade.of - 1)
    turn, lightness, saturation = colorsys.rgb_to_hls(*to_rgb(hue))
    rotated = colorsys.hls_to_rgb((turn + (0.5 - part) * _ROTATED) % 1, lightness, saturation)
    return _at_luminance(rotated, _DARKEST * (_LIGHTEST / _DARKEST) ** part)


def marker(shade: Shade) -> str:
    """Return the marker of a shade: frameworks differ, and so do the decoders of one."""
    return MARKERS[(get_args(Hue).index(shade.hue) + shade.place) % len(MARKERS)]


def luminance(color: str | tuple[float, float, float]) -> float:
    """Return the relative luminance of a colour, as WCAG 2 defines it."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(color)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _at_luminance(rgb: tuple[float, float, float], wanted: float) -> str:
    """Return a colour mixed with black or white until it has this luminance."""
    target = 1.0 if luminance(rgb) < wanted else 0.0
    least, most = 0.0, 1.0
    for _ in range(30):
        share = (least + most) / 2
        mix = tuple(part + (target - part) * share for part in rgb)
        over = luminance((mix[0], mix[1], mix[2])) > wanted
        least, most = (least, share) if over == (target == 1.0) else (share, most)
    return to_hex((mix[0], mix[1], mix[2]))


def mixed(color: str, share: float) -> str:
    """Return a colour that shows this share of what is behind it: paler on white, darker on black."""
    return to_hex((*to_rgb(color), 1 - share), keep_alpha=True)
