"""Reports in a real browser: legible in every window, light, dark and printed; sorted, filtered, hidden; with scripts and without."""

import base64
import json
import re
import shutil

import nbformat
import pytest

from runners.core.project import PROCESSED
from runners.present.html import write_report
from runners.present.throughput import charts, tables
from runners.present.throughput.baseline import relative
from runners.store.ledger import REFERENCE
from tests.conftest import FULL
from tests.e2e.accessibility import axe
from tests.e2e.browser import browser
from tests.e2e.test_reference import MEASURED
from tests.present.test_html import HOSTILE, hostile_sample

pytestmark = pytest.mark.e2e
EXPERIMENT = "02-json-decode"
V4 = nbformat.v4
WINDOWS = [(width, scheme) for width in (1366, 820, 390) for scheme in ("light", "dark")]
LEAST_PX = 8.5

OVERLAPPING = """() => [...document.querySelectorAll('.wb-chart svg')].flatMap(svg => {
  const whole = svg.getBoundingClientRect();
  const words = [...svg.querySelectorAll('text')].filter(text => text.textContent.trim() && !/rotate/.test(text.getAttribute('transform')));
  const boxes = words.map(text => [text.textContent, text.getBoundingClientRect()]);
  const out = ([, box]) => box.width && (box.right > whole.right + 4 || box.left < whole.left - 4);
  const found = boxes.filter(out).map(([text]) => `outside: ${text}`);
  boxes.forEach(([text, a], place) => boxes.slice(place + 1).forEach(([other, b]) => {
    const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (across > 2 && down > 0.4 * Math.min(a.height, b.height)) found.push(`${text} | ${other}`);
  }));
  return found.map(each => `${svg.getAttribute('aria-label')}: ${each}`);
})"""
SMALLEST = """() => Math.min(...[...document.querySelectorAll('.wb-panels text')].map(text => {
  const svg = text.ownerSVGElement;
  const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
  return scale ? parseFloat(getComputedStyle(text).fontSize) * scale : Infinity;
}))"""

# Rows that differ from one above them in their text alone: axe needs seconds for hundreds. The full form leaves them.
WITHOUT_REPETITION = """() => {
  const seen = new Set();
  for (const row of document.querySelectorAll('.wb-table tbody tr')) {
    const marks = row.outerHTML.replace(/>[^<]+/g, '>').replace(/ data-[a-z]+="[^"]*"/g, '');
    if (seen.has(marks)) row.remove();
    seen.add(marks);
  }
}"""


def hostile_report(folder):
    """A report whose systems have names that want to be markup, scripts and JSON."""
    run = hostile_sample()
    chart = charts.throughput(run.cells)
    shown = {"image/png": base64.b64encode(chart.png()).decode(), "text/plain": "chart"}
    outputs = [(shown | chart.fragment._repr_mimebundle_()[0], chart.fragment._repr_mimebundle_()[1])]
    outputs += [relative(run.comparisons, run.cells)._repr_mimebundle_(), tables.costs(run.cells)._repr_mimebundle_()]
    cells = [
        V4.new_code_cell("1", outputs=[V4.new_output("display_data", data=data, metadata=about)])
        for data, about in outputs
    ]
    folder.mkdir()
    nbformat.write(V4.new_notebook(cells=cells), folder / "notebook.ipynb")
    write_report(folder / "notebook.ipynb", folder / "report.html", title=HOSTILE, headline=HOSTILE)


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """The reports that come with the project, which ``test_reference.py`` makes again and compares, and a hostile one."""
    folder = tmp_path_factory.mktemp("reports")
    hostile_report(folder / "hostile")
    (folder / "kept").mkdir()
    for name in MEASURED:
        shutil.copy(PROCESSED / name / REFERENCE / "report.html", folder / "kept" / f"{name}.html")
    return folder


@pytest.fixture(scope="module")
def opened(reports, tmp_path_factory):
    """A function that opens one of the reports in Chromium."""
    with browser(reports, tmp_path_factory.mktemp("browser")) as chromium:

        def open_page(path=f"kept/{EXPERIMENT}.html", width=1366, scheme="light", script=True, view=""):
            context = chromium.new_context(
                viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=script
            )
            page = context.new_page()
            page.told, page.requested = [], []
            page.on("console", lambda message: page.told.append(message.text))
            page.on("pageerror", lambda error: page.told.append(str(error)))
            page.on("dialog", lambda dialog: page.told.append(f"dialog: {dialog.message}"))
            page.on("request", lambda request: page.requested.append(request.url))
            page.goto(f"file:///src/{path}{view}")
            return page

        yield open_page


def tools(page):
    box = page.locator(".wb-tools")
    if not box.evaluate("box => box.open"):
        box.locator("summary").click()
    return box


def visible_rows(table):
    return [row for row in table.locator("tbody tr:has(> [scope=row])").all() if row.is_visible()]


@pytest.mark.parametrize(("width", "scheme"), WINDOWS)
def test_a_report_is_legible_in_every_window(opened, width, scheme):
    page = opened(width=width, scheme=scheme)
    page.evaluate("document.querySelectorAll('main details').forEach(each => each.open = true)")
    assert page.told == []
    assert [url for url in page.requested if not url.startswith(("file:///src/", "data:"))] == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.locator(".wb-panels > svg").count() >= 10
    assert page.evaluate(OVERLAPPING) == []
    assert page.evaluate(SMALLEST) >= LEAST_PX
    ink, ground = (
        sum(map(int, re.findall(r"\d+", page.evaluate(f"getComputedStyle({of}).{what}"))[:3]))
        for of, what in (("document.querySelector('.wb-panels svg')", "color"), ("document.body", "backgroundColor"))
    )
    assert (ink > ground) == (scheme == "dark")


def test_the_table_of_the_answer_shows_all_its_rows_and_a_long_one_of_the_details_scrolls(opened):
    page = opened()
    page.evaluate("document.querySelectorAll('main details').forEach(each => each.open = true)")
    for scrolls, selector in (
        (False, "main > :not(details) .wb-scroll, main > .wb-scroll"),
        (True, "main details .wb-scroll"),
    ):
        heights = page.locator(selector).evaluate_all("all => all.map(each => each.scrollHeight - each.clientHeight)")
        assert heights
        assert (max(heights) > 1) == scrolls


def test_a_report_in_print_has_dark_ink_and_no_controls(opened):
    page = opened(scheme="dark")
    page.emulate_media(media="print")
    assert not page.locator(".wb-tools").is_visible()
    assert page.locator(".wb-panels > svg").first.is_visible()
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(31, 35, 40)"


def test_without_a_script_everything_is_readable(opened):
    page = opened(script=False)
    assert page.locator(".wb-tools, .wb-copy, .wb-sort").count() == 0
    assert page.locator(".wb-panels > svg").first.is_visible()
    assert page.locator(".wb-table").count() >= 4
    assert page.get_by_text("k requests/s").first.is_visible()


def test_a_table_is_sorted_by_any_column_and_numbers_are_sorted_as_numbers(opened):
    page = opened("hostile/report.html")
    table = page.locator(".wb-table", has_text="what it costs")
    page.evaluate("document.querySelectorAll('main details').forEach(each => each.open = true)")
    head = table.locator("thead th").nth(1)
    for direction, is_sorted in (
        ("ascending", lambda each: sorted(each)),
        ("descending", lambda each: sorted(each)[::-1]),
    ):
        head.locator("button").click()
        assert head.get_attribute("aria-sort") == direction
        body = table.locator("tbody").last
        values = [
            float(each)
            for each in body.locator("td:nth-child(2)[data-v]").evaluate_all("all => all.map(td => td.dataset.v)")
        ]
        assert len(values) >= 5
        assert values == is_sorted(values)


def test_a_hidden_system_leaves_charts_and_tables_together_and_the_address_keeps_it(opened):
    page = opened()
    name = "drogon+glaze"
    marks, rows = page.locator(f'[data-system="{name}"]'), page.locator(f'th[scope=row]:text-is("{name}")')
    assert marks.first.is_visible()
    tools(page).get_by_role("button", name=name).click()
    assert not any(each.is_visible() for each in marks.all())
    again = opened(view="#" + page.url.partition("#")[2])
    assert again.locator(".wb-tools").get_by_role("button", name=name).get_attribute("aria-pressed") == "false"
    assert not again.locator(f'[data-system="{name}"]').first.is_visible()
    assert rows.count() == 0 or not rows.first.is_visible()
    again.get_by_role("button", name="Show all").click()
    assert again.locator(f'[data-system="{name}"]').first.is_visible()


def test_rows_are_filtered_by_what_they_say(opened):
    page = opened("hostile/report.html")
    tools(page).get_by_role("searchbox").fill("encoding/json")
    shown = [row.inner_text() for row in visible_rows(page.locator(".wb-table").first)]
    assert shown
    assert all("encoding/json" in text for text in shown)
    assert "rows are shown" in page.get_by_role("status").inner_text()


def test_another_baseline_shows_the_pairs_that_were_computed_before(opened):
    page = opened("hostile/report.html")
    cell = page.locator("[data-choices*='gin+encoding/json']").first
    computed = json.loads(cell.get_attribute("data-choices"))
    before = cell.inner_text()
    for name in ("gin+encoding/json", HOSTILE):
        tools(page).get_by_role("combobox").select_option(name)
        assert cell.inner_text().split() == " ".join(computed[name]).split()
    page.get_by_role("button", name="Show all").click()
    assert cell.inner_text() == before


def test_hostile_names_stay_text_in_svg_json_controls_and_copies(opened):
    page = opened("hostile/report.html")
    assert page.told == []
    button = tools(page).locator("button", has_text="alert(1)")
    assert button.inner_text().endswith(HOSTILE)
    button.click()
    hidden = page.locator(".wb-chart [data-system]").evaluate_all(
        "(marks, name) => marks.filter(mark => mark.dataset.system === name).map(mark => getComputedStyle(mark).display)",
        HOSTILE,
    )
    assert set(hidden) == {"none"}
    again = opened("hostile/report.html", view="#" + page.url.partition("#")[2])
    assert again.locator(".wb-tools button", has_text="alert(1)").get_attribute("aria-pressed") == "false"
    again.get_by_role("button", name="Show all").click()
    again.evaluate("navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); }")
    for kind in ("CSV", "Markdown"):
        again.get_by_role("button", name=f"Copy as {kind}").first.click()
        again.wait_for_function(f"document.querySelector('[role=status]').textContent.startsWith('{kind}')")
        copied = again.evaluate("window.copied")
        assert "alert(1)" in copied
        assert ("<script>" in copied) == (kind == "CSV")
    assert page.locator("main script, main img, main iframe").count() == 0
    assert page.told == again.told == []


@pytest.mark.parametrize("name", MEASURED)
def test_every_report_of_the_reference_is_legible_and_axe_finds_no_serious_violation(opened, name):
    source = axe.script()
    for width, scheme in ((1366, "light"), (390, "dark")):
        page = opened(f"kept/{name}.html", width=width, scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert page.evaluate(OVERLAPPING) == []
        page.evaluate("document.querySelectorAll('main details').forEach(each => each.open = true)")
        if not FULL:
            page.evaluate(WITHOUT_REPETITION)
        assert axe.violations(page, source) == []
        assert page.told == []
        page.close()


@pytest.mark.parametrize("path", ["hostile/report.html", *(f"kept/{name}.html" for name in MEASURED)])
def test_a_keyboard_reaches_every_control(opened, path):
    page = opened(path)
    tools(page)
    wanted = "a[href], button, input, select, summary, [tabindex]"
    count = page.evaluate(
        "wanted => { const all = [...document.querySelectorAll(wanted)].filter(each => each.checkVisibility());"
        " all.forEach((each, place) => each.dataset.place = place); return all.length; }",
        wanted,
    )
    page.evaluate("document.activeElement.blur()")
    reached = set()
    for _ in range(count + 5):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.dataset.place || ''"))
    assert {str(place) for place in range(count)} - reached == set()
    page.locator(".wb-sort").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("[aria-sort]").count() == 1
