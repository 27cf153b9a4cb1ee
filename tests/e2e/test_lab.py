"""JupyterLab as people use it: open a notebook, change a parameter, run all cells, read what comes out."""

import os
import re
import shutil
import signal
import subprocess
import time

import psutil
import pytest
from playwright.sync_api import expect

from runners.core.project import NOTEBOOKS, PROJECT
from tests.e2e.browser import browser
from tests.free_ports import free_ports
from tests.systems.seen import listening_addresses

pytestmark = [pytest.mark.e2e, pytest.mark.quiet]
NOTEBOOK = "01-ping.ipynb"
PARAMETERS = """profile = "quick"
systems = ["haproxy-return"]
max_blocks = 2
slices = "0"
run_id = "by-hand"
"""
LOOPBACK_AS_THE_KERNEL_WRITES_IT = "0100007F"
# What the machine invalidates is measured again, after up to 75 s of pauses.
CONCLUDED_MS, KERNEL_MS, STARTED_MS = 300_000, 60_000, 10_000


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """``./wrkbook lab`` on a copy of the notebooks, with settings and data of its own: its process, URL, and folder."""
    folder = tmp_path_factory.mktemp("lab")
    shutil.copytree(NOTEBOOKS, folder / "notebooks", ignore=shutil.ignore_patterns(".*"))
    env = {
        **{name: value for name, value in os.environ.items() if name != "JUPYTER_TOKEN"},
        "WRKBOOK_DATA": str(folder / "data"),
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTER_DATA_DIR": str(folder / "share"),
    }
    # What the user once installed under the name of the notebooks' kernel: it must not be taken.
    kernel = folder / "share" / "kernels" / "python3"
    kernel.mkdir(parents=True)
    (kernel / "kernel.json").write_text('{"argv": ["false"], "display_name": "Wrong", "language": "python"}')
    (port,) = free_ports(1, 19700)
    command = [PROJECT / "wrkbook", "lab", folder / "notebooks", "--port", str(port), "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)
    assert process.stdout is not None
    try:
        url = process.stdout.readline().split()[-1]
        deadline = time.monotonic() + 20
        while not listening_addresses(port) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        yield process, url, folder
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def page(lab, tmp_path_factory):
    """The notebook in JupyterLab, its parameters changed, after all cells were told to run."""
    _, url, folder = lab
    with browser(folder / "notebooks", tmp_path_factory.mktemp("browser")) as chromium:
        page = chromium.new_page(viewport={"width": 1366, "height": 900})
        page.requested = []
        page.on("request", lambda request: page.requested.append(request.url))
        page.goto(url)
        page.get_by_role("listitem", name=NOTEBOOK).or_(page.get_by_title(NOTEBOOK)).first.dblclick()
        # Without its kernel, JupyterLab would offer a choice of kernels instead of running the cells.
        ready = page.locator(".jp-Notebook-ExecutionIndicator")
        expect(ready).to_have_attribute("data-status", "idle", timeout=KERNEL_MS)
        parameters = page.locator(".jp-CodeCell", has_text="# quick (smoke)")
        parameters.locator(".cm-content").click()
        page.keyboard.press("Control+a")
        page.keyboard.insert_text(PARAMETERS)
        run_all_cells(page, ready)
        yield page


def run_all_cells(page, indicator):
    """Choose it, and once more where nothing begins to run: that was seen once, and the tests waited for minutes."""
    for last in (False, True):
        for item in ("Run", "Run All Cells"):
            page.get_by_role("menuitem", name=item, exact=True).click()
        try:
            return expect(indicator).not_to_have_attribute("data-status", "idle", timeout=STARTED_MS)
        except AssertionError:
            if last:
                raise


def cell(page, source):
    return page.locator(".jp-CodeCell", has_text=source)


def test_it_listens_on_loopback_and_lets_nobody_in_without_its_token(lab):
    import httpx

    _, url, _ = lab
    address = httpx.URL(url)
    assert listening_addresses(address.port) == {LOOPBACK_AS_THE_KERNEL_WRITES_IT}
    api = address.copy_with(path="/api/kernels", query=None)
    assert httpx.get(api).status_code == 403
    assert httpx.get(api, params=dict(address.params)).status_code == 200


def test_the_progress_is_seen_then_the_answer_with_its_chart_and_the_tables(page):
    expect(cell(page, "experiment.measure()")).to_contain_text("left", timeout=CONCLUDED_MS)
    failed = page.locator(".jp-OutputArea-output", has_text=re.compile(r"^wrkbook: |Traceback"))
    ended = cell(page, "tables.provenance(").locator(".wb-table").or_(failed)
    expect(ended.first).to_be_visible(timeout=CONCLUDED_MS)
    assert failed.all_inner_texts() == []
    answer = cell(page, "answer = Answer(report)")
    answer.scroll_into_view_if_needed()
    expect(answer).to_contain_text("smoke run")
    expect(answer).to_contain_text("trials are valid")
    chart = answer.locator("img")
    chart.scroll_into_view_if_needed()
    assert chart.evaluate("image => image.naturalWidth") > 500


def test_a_table_keeps_its_own_look_among_jupyterlab_s(page):
    table = cell(page, "tables.costs(").locator(".wb-table").first
    table.scroll_into_view_if_needed()
    assert table.evaluate("table => table.parentElement.scrollWidth <= table.parentElement.clientWidth")
    stripes = table.locator("tbody tr").evaluate_all(
        "rows => [...new Set(rows.map(r => getComputedStyle(r).backgroundColor))]"
    )
    assert stripes == ["rgba(0, 0, 0, 0)"]


def test_text_in_tables_follows_the_dark_theme(page):
    page.get_by_role("menuitem", name="Settings", exact=True).click()
    for item in ("Theme", "JupyterLab Dark"):
        page.locator(".lm-Menu-itemLabel").get_by_text(item, exact=True).click()
    page.wait_for_function("document.body.dataset.jpThemeLight === 'false'")
    table = cell(page, "tables.costs(").locator(".wb-table").first
    found = table.evaluate(
        """table => ['td:not([class*=bad])', 'th[scope=row]', '.wb-group', 'caption'].map(name => {
             const part = table.querySelector(name);
             const style = getComputedStyle(part);
             return [style.color, style.backgroundColor].map(c => Math.max(...c.match(/[\\d.]+/g).slice(0, 3)));
           })"""
    )
    for ink, ground in found:
        assert ink > 180
        assert ground < 60


def test_nothing_is_requested_from_another_host(lab, page):
    _, url, _ = lab
    here = url.partition("/lab")[0]
    assert [requested for requested in page.requested if not requested.startswith((here, "data:", "blob:"))] == []


def test_the_run_is_one_like_any_other(lab, page):
    _, _, folder = lab
    assert (folder / "data/processed/01-ping/by-hand/summary.json").exists()


def test_an_interrupt_ends_it_and_leaves_nothing_behind(lab, page):
    process, _, folder = lab
    below = psutil.Process(process.pid).children(recursive=True)
    assert below  # the notebook's kernel
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0
    assert not psutil.wait_procs(below, timeout=5)[1]
    left = {path.name for path in (folder / "notebooks").iterdir()}
    assert left == {path.name for path in NOTEBOOKS.glob("*.ipynb")}
