"""Tables, reports and the index: inert whatever they are given, complete without a network."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import nbformat
import pytest
from bs4 import BeautifulSoup

from runners.core.units import RATIOS, quantity_parts
from runners.present.answer import answer_line, said
from runners.present.html import relative_link, write_report
from runners.present.kit.markup import REPORT, TEMPLATES, table, unbroken
from runners.present.kit.svg import number_names, share_styles
from runners.present.kit.wording import Narrative
from runners.present.limits import limits
from runners.present.throughput import charts, curves, report, tables
from runners.present.throughput.baseline import ratio_cells, relative
from tests.present.frames import make_sample

HOSTILE = "<script>alert(1)</script>]]><img src=x onerror=alert(2)>\"'&"
HOSTILE_SVG = (
    '<figure class="wb-chart"><svg viewBox="0 0 9 9" onload="alert(7)"><script>alert(8)</script><foreignObject><p>html</p></foreignObject>'
    '<a href="javascript:alert(9)"><text>linked</text></a><use href="https://example.org/x.svg#a"/><use href="#kept"/>'
    '<image href="https://example.org/x.png"/><path style="fill:url(https://example.org/)" d="M 0 0"/>'
    '<path clip-path="url(#kept)" d="M 1 1"/><animate attributeName="href"/><style>@import "x"</style></svg></figure>'
)
WIDE = [(f"column {number}", "") for number in range(12)]
V4 = nbformat.v4


class Tags(HTMLParser):
    """Collects the tags and attributes of a page."""

    def __init__(self, html):
        super().__init__()
        self.found = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def is_inert(html):
    tags = Tags(html).found
    handlers = [name for _, attrs in tags for name in attrs if name.startswith("on")]
    return not handlers and not any(
        tag in ("script", "iframe", "img", "object", "link", "foreignobject") for tag, _ in tags
    )


def hostile_sample():
    run = make_sample()
    name = "gin+simdjson-go"
    for frame in (run.cells, run.comparisons, run.shares, run.curves, run.trials, run.checks, run.published):
        frame.replace({name: HOSTILE, "webserver-benchmarks": HOSTILE, "held": HOSTILE}, inplace=True)
    run.checks.loc[:, ["detail", "advice", "name"]] = HOSTILE
    run.cells["remarks"] = [[HOSTILE]] * len(run.cells)
    run.cells.loc[run.cells.index[0], "status"] = f"failed: {HOSTILE}"
    run.machine[HOSTILE] = {HOSTILE: [HOSTILE]}
    return run


def every_fragment(run):
    yield tables.results(run.cells, run.published.assign(machine=HOSTILE))
    yield relative(run.comparisons, run.cells)
    yield tables.comparisons(run.comparisons, run.cells)
    yield tables.checks(run.checks, run.cells)
    yield tables.provenance(run.machine, run.manifest.versions, run.parameters)
    yield report.decision_table(run)
    yield said(report.conclusions(run), report.how_sure(run), [HOSTILE])
    yield limits(run)
    yield answer_line(HOSTILE)


def test_hostile_names_stay_inert_in_tables_and_sentences():
    for fragment in every_fragment(hostile_sample()):
        data, metadata = fragment._repr_mimebundle_()
        assert is_inert(data["text/html"])
        assert "alert(1)" in data["text/html"]
        assert metadata["text/html"] == {"wrkbook": True}


def test_a_hostile_name_can_be_drawn_and_stays_text_in_svg():
    run = hostile_sample()
    run.cells.loc[run.cells.index[1], "status"] = "failed: \x1b[31m\x00 ]]> --> </text><script>alert(3)</script>"
    for chart in (charts.throughput(run.cells), curves.percentile_curves(run.curves, run.cells)):
        assert HOSTILE in chart.description
        assert is_inert(chart.html)
        figure = BeautifulSoup(chart.html, "html.parser")
        assert HOSTILE in {mark["data-system"] for mark in figure.select("[data-system]")}
        assert any(text.get_text().startswith("<script>alert(1)") for text in figure.find_all("text"))
    charts.throughput(run.cells).png()


def test_the_choices_of_a_cell_are_inert_json():
    run = hostile_sample()
    html = relative(run.comparisons, run.cells).html
    assert is_inert(html)
    cells = BeautifulSoup(html, "html.parser").select("[data-choices]")
    assert any(HOSTILE in json.loads(cell["data-choices"]) for cell in cells)


def test_a_ratio_to_another_baseline_is_that_of_the_pair_or_its_inverse():
    run = make_sample()
    found = ratio_cells(run.comparisons, "decode-10")
    rows = run.comparisons[run.comparisons["workload"] == "decode-10"].set_index(["system_a", "system_b"])
    for (a, b), row in rows[rows["family"] != "control"].iterrows():
        text, interval = quantity_parts(row["ratio"], row["ratio_low"], row["ratio_high"], RATIOS)
        assert found[a].choices[b] == (text, interval)
        text, interval = quantity_parts(1 / row["ratio"], 1 / row["ratio_high"], 1 / row["ratio_low"], RATIOS)
        assert found[b].choices[a] == (text, interval)
    assert found["drogon+simdjson"].text == "1 ×"


def test_the_published_column_says_whose_machine_it_was():
    run = make_sample()
    html = tables.results(run.cells, run.published).html
    assert "another machine: i9-12900HK, 16 threads" in html
    assert "published" not in tables.results(run.cells).html


def test_tables_have_units_in_their_heads_and_mark_bounds_and_what_is_not_estimable():
    run = make_sample()
    soup = BeautifulSoup(tables.results(run.cells, run.published).html, "html.parser")
    heads = [re.sub(r"\s+", " ", head.get_text(" ")) for head in soup.select("thead th")]
    assert "system n: used/made" in heads
    text = soup.get_text(" ")
    assert text.count("≥") == 1
    assert text.count("no number") == 2
    for each in soup.select("table"):
        rows = [row for row in each.select("tbody tr") if not row.select(".wb-group")]
        assert {len(row.find_all(["td", "th"])) for row in rows} == {len(each.select("thead th"))}


def test_the_results_are_in_tables_that_a_laptop_s_window_has_room_for():
    run = make_sample()
    soup = BeautifulSoup(tables.results(run.cells, run.published).html, "html.parser")
    costs, times = soup.select("table")
    assert len(costs.select("thead th")) <= 8
    assert len(times.select("thead th")) == 8
    assert [row.get_text() for row in costs.select("tbody th[scope=row]")] == [
        row.get_text() for row in times.select("tbody th[scope=row]")
    ]


def test_the_light_of_a_check_is_told_in_words_too():
    run = make_sample()
    text = str(tables.checks(run.checks, run.cells))
    assert "✕ 0 of 1 1 void" in text
    assert "▲ 0 of 1 1 flagged" in text
    assert "✓ 1 of 1" in text
    assert "close other programs" in text


def test_comparisons_show_the_control_beside_its_own_system_only():
    run = make_sample()
    lines = [line for line in str(tables.comparisons(run.comparisons, run.cells)).splitlines() if "control" in line]
    assert len(lines) == 2
    assert all("gin+encoding/json" in line for line in lines)


def test_units_stay_with_their_numbers():
    assert unbroken("61.2 k requests/s, ±2.0 % <b>") == "61.2&nbsp;k&nbsp;requests/s, ±2.0&nbsp;% &lt;b&gt;"


def output(data, metadata=None):
    return V4.new_output("display_data", data=data, metadata=metadata or {})


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A report of a notebook that holds everything a report may meet."""
    folder = tmp_path_factory.mktemp("report")
    run = make_sample()
    png = charts.throughput(run.cells).png()
    picture = {"image/png": base64.b64encode(png).decode(), "text/plain": "chart"}
    cells = [
        V4.new_markdown_cell("# The notebook's own title\n\nWhy."),
        V4.new_markdown_cell("## Results\n\n![remote](https://example.org/x.png)\n\n<script>alert(3)</script>"),
        V4.new_code_cell(
            "secret_code = 1", outputs=[output(picture, {"image/png": {"width": 864, "alt": 'a "chart" <x>'}})]
        ),
        V4.new_code_cell("profile = 'quick'", metadata={"tags": ["parameters"]}),
        V4.new_markdown_cell("### Results\n\nAgain."),
        V4.new_code_cell("1", outputs=[output(*tables.results(run.cells, run.published)._repr_mimebundle_())]),
        V4.new_code_cell("1", outputs=[output(*table("Wide", WIDE, [])._repr_mimebundle_())]),
        V4.new_code_cell("1", outputs=[output(*charts.throughput(run.cells).fragment._repr_mimebundle_())]),
        V4.new_code_cell(
            "1", outputs=[output({REPORT: {"html": HOSTILE_SVG}, "text/plain": "x"}, {REPORT: {"wrkbook": True}})]
        ),
        V4.new_code_cell("1", outputs=[output({REPORT: {"html": "<b>alert(4)</b>"}, "text/plain": HOSTILE})]),
        V4.new_code_cell("2", outputs=[output(*Narrative([HOSTILE])._repr_mimebundle_())]),
        V4.new_code_cell("3", outputs=[output({"text/html": "<script>alert(4)</script>", "text/plain": HOSTILE})]),
        V4.new_code_cell(
            "4", outputs=[output({"application/javascript": "alert(5)", "image/svg+xml": "<svg onload='alert(6)'/>"})]
        ),
        V4.new_code_cell(
            "5",
            outputs=[
                V4.new_output("stream", name="stdout", text="progress 50 %"),
                V4.new_output("stream", name="stderr", text="noise"),
            ],
        ),
        V4.new_code_cell(
            "6",
            outputs=[
                V4.new_output("error", ename="ValueError", evalue=HOSTILE, traceback=[f"\x1b[31m{HOSTILE}\x1b[0m"])
            ],
        ),
        V4.new_markdown_cell("## Hidden words", metadata={"tags": ["hide-report"]}),
    ]
    notebook = V4.new_notebook(cells=cells, metadata={"language_info": {"name": "python"}})
    nbformat.write(notebook, folder / "notebook.ipynb")
    written = write_report(
        folder / "notebook.ipynb",
        folder / "report.html",
        title=f"Title {HOSTILE}",
        headline=HOSTILE,
        facts={"machine": HOSTILE},
        links={"index": "../../index.html"},
    )
    return written.read_text(encoding="utf-8")


def test_a_report_requests_nothing_and_runs_nothing(page):
    tags = Tags(page).found
    assert not [
        tag
        for tag, _ in tags
        if tag in ("link", "iframe", "object", "foreignobject", "image", "animate", "base", "form")
    ]
    assert [tag for tag, _ in tags].count("script") == 1
    assert "svg" in [tag for tag, _ in tags]
    assert all(attrs["href"].startswith("#") for tag, attrs in tags if tag == "use" and "href" in attrs)
    assert not [name for _, attrs in tags for name in attrs if name.startswith("on")]
    loaded = [
        attrs.get(name) or "" for _, attrs in tags for name in ("src", "srcset", "data", "poster") if name in attrs
    ]
    assert all(source.startswith("data:image/") for source in loaded)
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)
    assert not re.search(r"(src|href)=.https?:", page)


def test_an_empty_part_of_a_drawing_has_no_end_of_its_own(page):
    assert "></path>" not in page
    assert "></use>" not in page
    drawn = BeautifulSoup(page, "html.parser").find("div", class_="wb-panels").find("svg")
    assert {child.name for child in drawn.find_all(True, recursive=False)} > {"path", "text"}
    assert not [part for part in drawn.find_all("path") if part.find(True)]


def test_a_report_has_a_strict_content_security_policy(page):
    policy = BeautifulSoup(page, "html.parser").find("meta", attrs={"http-equiv": "Content-Security-Policy"})["content"]
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'unsafe-inline'")
    (script,) = BeautifulSoup(page, "html.parser").find_all("script")
    digest = base64.b64encode(hashlib.sha256(script.string.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy
    assert policy.count("script-src") == 1


def test_the_script_is_one_small_file_that_requests_nothing_and_makes_no_markup_of_text():
    text = (TEMPLATES / "report.js").read_text(encoding="utf-8")
    assert len(text.encode()) <= 12_000
    assert not re.search(
        r"fetch|XMLHttp|import|WebSocket|sendBeacon|innerHTML|outerHTML|insertAdjacent|eval|Function|document.write",
        text,
    )
    assert "</" not in text


def test_a_drawing_keeps_nothing_that_acts(page):
    drawn = BeautifulSoup(page, "html.parser").find("svg", viewbox="0 0 9 9")
    assert {tag.name for tag in drawn.find_all(True)} == {"use", "path"}
    assert [use.get("href") for use in drawn.find_all("use")] == [None, "#kept"]
    assert drawn.find("path", attrs={"clip-path": "url(#kept)"})


def test_the_table_of_contents_resolves_and_every_anchor_is_unique(page):
    soup = BeautifulSoup(page, "html.parser")
    anchors = [tag["id"] for tag in soup.find_all(id=True)]
    targets = [link["href"][1:] for link in soup.select("nav ol a")]
    assert len(targets) == 2
    assert set(targets) <= set(anchors)
    assert len(anchors) == len(set(anchors))


def test_code_waits_for_the_toggle_but_parameters_are_shown(page):
    soup = BeautifulSoup(page, "html.parser")
    assert soup.find("input", id="show-code", type="checkbox")
    assert soup.find("label", attrs={"for": "show-code"})
    assert [block.get_text().strip() for block in soup.select(".code.stated")] == ["profile = 'quick'"]
    assert "secret_code" in soup.select_one(".code:not(.stated)").get_text()
    assert ".code { display: none; }" in page


def test_outputs_are_shown_escaped_or_not_at_all(page):
    soup = BeautifulSoup(page, "html.parser")
    text = soup.get_text()
    assert soup.html["lang"] == "en"
    assert soup.find("img")["alt"] == 'a "chart" <x>'
    assert text.count("alert(1)") >= 4
    for gone in (
        "alert(4)",
        "alert(5)",
        "alert(6)",
        "progress 50 %",
        "noise\n",
        "Hidden words",
        "notebook's own title",
    ):
        assert gone not in text
    assert "This cell failed: ValueError" in soup.select_one(".error").get_text()
    assert len(soup.find_all("h1")) == 1
    assert soup.select(".wb-scroll.wide")


@pytest.mark.parametrize(
    "target", ["javascript:alert(1)", "https://example.org/", "//example.org/", "/etc/passwd", "\\\\host"]
)
def test_links_are_relative_paths(target):
    with pytest.raises(ValueError, match="not a relative path"):
        relative_link(target)


def test_a_style_that_many_parts_of_drawings_have_is_written_once():
    page = BeautifulSoup(
        '<p style="color:red"></p><svg><g style="fill:none"/><g class="own" style="fill:none"/><g style="fill:red"/></svg>',
        "html.parser",
    )
    assert share_styles(page) == "svg .s0{fill:none}"
    assert [tag.get("class") for tag in page.select("g")] == ["s0", "own s0", None]
    assert [tag["style"] for tag in page.select("[style]")] == ["color:red", "fill:red"]


def test_parts_of_drawings_get_short_names_and_what_refers_to_them_follows():
    page = BeautifulSoup(
        '<h2 id="kept">x</h2><svg><path id="long-1"/><clippath id="long-2"/>'
        '<use href="#long-1" clip-path="url(#long-2)"/><use href="#nothing"/></svg>',
        "html.parser",
    )
    number_names(page)
    assert [tag["id"] for tag in page.select("[id]")] == ["kept", "i0", "i1"]
    assert [tag["href"] for tag in page.select("use")] == ["#i0", "#nothing"]
    assert page.select_one("use")["clip-path"] == "url(#i1)"


@pytest.mark.parametrize("style", ["x}</style><script>1</script>", "fill:red}body{display:none", 'content:"<"'])
def test_a_style_that_could_end_the_sheet_stays_where_it_is(style):
    page = BeautifulSoup("<svg><g/><g/></svg>", "html.parser")
    for tag in page.select("g"):
        tag["style"] = style
    assert share_styles(page) == ""
    assert [tag["style"] for tag in page.select("g")] == [style, style]
