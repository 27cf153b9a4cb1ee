"""Dots of a chart: those that are alike are one element of its SVG, and stand where they stood."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, strategies as st
from matplotlib.figure import Figure

from runners.present.kit.dots import join_dots
from runners.present.kit.svg import mark, small_svg
from tests.conftest import examples

SVG = "{http://www.w3.org/2000/svg}"
DOT = re.compile(r"M(\S+) (\S+)h0")
places = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=30, unique=True)


def drawn(*series, **marks):
    figure = Figure(figsize=(4, 3))
    ax = figure.add_subplot()
    ax.set(xlim=(0, 1), ylim=(0, 1))
    for color, dots in series:
        ax.plot(*zip(*dots, strict=True), **({"marker": "o", "ls": "", "color": color, "mew": 0, "ms": 4} | marks))
    return figure, ax


def paths_of_dots(markup):
    return [path for path in re.findall("<path [^>]*>", markup) if "h0" in path]


@examples(25)
@given(places)
def test_each_dot_stands_where_it_was_drawn(dots):
    figure, ax = drawn(("#ff0000", dots))
    markup = small_svg(figure, "dots", "x")
    (path,) = paths_of_dots(markup)
    height = figure.get_figheight() * 72
    expected = [(x, height - y) for x, y in ax.transData.transform(dots) * 72 / figure.dpi]
    assert np.allclose(np.array(DOT.findall(path), dtype=float), expected, atol=0.051)
    assert all(style in path for style in ("stroke:#ff0000", "stroke-width:4;", "stroke-linecap:round"))


def test_dots_of_two_colors_are_two_paths_and_keep_their_opacity():
    figure, _ = drawn(("#ff0000", [(0.1, 0.1), (0.2, 0.2)]), ("#0000ff", [(0.3, 0.3), (0.4, 0.4)]), alpha=0.5)
    red, blue = paths_of_dots(small_svg(figure, "dots", "x"))
    assert "stroke:#ff0000" in red
    assert "stroke:#0000ff" in blue
    assert all("stroke-opacity:0.5" in path and len(DOT.findall(path)) == 2 for path in (red, blue))


def test_a_scatter_plot_with_a_color_for_each_dot_keeps_all_of_them():
    figure = Figure()
    colors = ["#ff0000"] * 3 + ["#0000ff"] * 2 + ["#00ff00"]
    figure.add_subplot().scatter(range(6), range(6), c=colors, linewidths=0)
    markup = small_svg(figure, "dots", "x")
    assert [len(DOT.findall(path)) for path in paths_of_dots(markup)] == [3, 2]
    assert markup.count("fill:#00ff00") == 1  # one dot alone is a dot


@pytest.mark.parametrize(
    "marks", [{"marker": "s"}, {"marker": "^"}, {"mew": 1, "mec": "#00ff00"}, {"mfc": "none", "mew": 1}]
)
def test_other_marks_stay_what_they_are(marks):
    figure, _ = drawn(("#ff0000", [(0.1, 0.1), (0.2, 0.2), (0.5, 0.5)]), **marks)
    markup = small_svg(figure, "dots", "x")
    assert not paths_of_dots(markup)
    assert markup.count("<use") >= 3


def test_groups_with_another_clipping_path_between_them_are_not_joined():
    root = ElementTree.fromstring(  # noqa: S314  (our own text)
        f'<svg xmlns="{SVG[1:-1]}"><g clip-path="url(#a)"><text/></g><g clip-path="url(#b)"><text/></g>'
        '<g clip-path="url(#a)"><text/></g><g clip-path="url(#a)"><text/><text/></g></svg>'
    )
    join_dots(root)
    assert [(group.get("clip-path"), len(group)) for group in root] == [("url(#a)", 1), ("url(#b)", 1), ("url(#a)", 3)]


def test_marks_of_one_system_that_stand_beside_each_other_say_its_words_once():
    figure, ax = drawn()
    for place, (system, words) in enumerate([("a", "1 k/s"), ("a", "1 k/s"), ("a", "2 k/s"), ("b", "2 k/s")]):
        for line in ax.plot([0, 1], [0, place / 4]):
            mark(line, system, words)
    markup = small_svg(figure, "lines", "x")
    assert re.findall(r'data-system="(\w)"><title>([^<]*)', markup) == [("a", "1 k/s"), ("a", "2 k/s"), ("b", "2 k/s")]
    assert len(re.findall("<path [^>]*stroke-width:1.5", markup)) == 4
