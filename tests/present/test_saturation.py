"""Percentiles at saturation are folded away, under a sentence that says what they are."""

from bs4 import BeautifulSoup

from runners.present.throughput import tables
from runners.present.throughput.curves import TITLE, at_saturation
from tests.present.frames import make_sample


def test_they_are_folded_with_their_sentence_curves_and_table():
    run = make_sample()
    page = BeautifulSoup(at_saturation(run.curves, run.cells).html, "html.parser")
    (fold,) = page.find_all("details", recursive=False)
    assert not fold.has_attr("open")
    assert fold.summary.text == TITLE == "Service times at saturation"
    assert "restate the throughput" in fold.text
    assert "08-latency-under-load" in fold.text
    assert len(fold.select("figure.wb-chart svg")) >= 2
    assert "Curves of service time" in fold.figure["aria-label"]
    assert "p99.9" in fold.table.text


def test_a_notebook_shows_the_curves_as_a_picture_as_it_shows_no_svg_before_it_is_trusted():
    run = make_sample()
    fold = BeautifulSoup(at_saturation(run.curves, run.cells)._repr_html_(), "html.parser").details
    assert fold.img["src"].startswith("data:image/png;base64,")
    assert "Curves of service time" in fold.img["alt"]
    assert not fold.find("svg")


def test_the_table_of_costs_has_no_percentile():
    run = make_sample()
    assert "p99" not in str(tables.costs(run.cells, run.published))
    assert "p99" in str(tables.service_times(run.cells))
