"""What is typed, written into a manifest, or printed by a program is shown; it is never obeyed."""

from pathlib import Path

import nbformat
import pytest

from runners.core.errors import WrkbookError
from runners.core.project import PROJECT
from runners.measure.conformance import full_image
from runners.present.html import write_report
from runners.systems.build import build
from runners.systems.catalogue import Catalogue
from runners.systems.process import ServerProcess
from runners.systems.server_manifest import load_server
from tests.e2e.browser import browser
from tests.faults.blocks import measured, servers, settings
from tests.faults.harness import EXPERIMENT, Observed
from tests.free_ports import free_ports
from tests.present.test_html import V4, every_fragment, hostile_sample, output

MARKER = "document.title = 'owned'; window.owned = true"
SCRIPTS = f'<script>{MARKER}</script><img src=x onerror="{MARKER}"><svg onload="{MARKER}"></svg><a href="javascript:{MARKER}">x</a>'


@pytest.mark.servers
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([EXPERIMENT, "-p", "systems", "gin; touch {mark}"], "no system named 'gin; touch"),
        ([EXPERIMENT, "-p", "systems", "x\\']\nopen('{mark}', 'w')  #"], "no system named"),
        ([EXPERIMENT, "-p", "server_cpus", "$(touch {mark})"], "server_cpus"),
        ([EXPERIMENT, "-p", "server_cpus", '0"\nopen("{mark}", "w")  #'], "server_cpus"),
        ([EXPERIMENT, "-p", "body_style", "`touch {mark}`"], "parameter body_style"),
        ([EXPERIMENT, "-p", "os.system('touch {mark}')", "1"], "unknown parameter"),
        ([EXPERIMENT, "--run-id", "../../../outside"], "cannot be a run-id"),
        ([EXPERIMENT, "--run-id", "a\nb"], "cannot be a run-id"),
        ([EXPERIMENT, "--run-id", "\x1b]0;owned\x07"], "cannot be a run-id"),
        (["../../../../etc/passwd"], "there is no notebook named"),
        (["../tests/01-ping; touch {mark}"], "there is no notebook named"),
        (["\x1b[31m01"], "there is no notebook named"),
    ],
)
def test_what_is_typed_is_data_and_nothing_else(tmp_path, cache, arguments, told):
    mark, data = tmp_path / "mark", tmp_path / "data"
    words = [word.replace("{mark}", str(mark)) for word in arguments]
    with Observed([PROJECT / "wrkbook", "run", "--profile", "quick", *words], data, cache) as run:
        assert run.wait() == 1
        run.assert_nothing_is_left(set())
    assert told in run.output
    assert "Traceback" not in run.output
    assert "\x1b" not in run.output
    assert not mark.exists()
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["data-output.txt"]


@pytest.mark.parametrize("title", ["\\u001b[31mred", "two\\nlines", "", "\\u009bred", "x" * 81])
def test_a_title_that_could_command_a_terminal_is_refused(tmp_path, title):
    folder = servers(tmp_path, liar="none") / "liar"
    manifest = folder / "server.toml"
    manifest.write_text(manifest.read_text().replace("A server with a fault", title))
    with pytest.raises(WrkbookError, match="title"):
        load_server(folder)


@pytest.mark.parametrize("name", ["..", "a b", "A", "-x", "x;y", "ä"])
def test_a_folder_that_is_no_name_is_no_server(tmp_path, name):
    folder = tmp_path / name if name != ".." else tmp_path / "a" / ".."
    folder.mkdir(parents=True, exist_ok=True)
    with pytest.raises(WrkbookError, match="is not a name for a server"):
        load_server(folder)


@pytest.mark.servers
def test_a_servers_command_reaches_nothing_outside_its_folder(tmp_path, monkeypatch, cache):
    monkeypatch.setenv("XDG_CACHE_HOME", cache["XDG_CACHE_HOME"])
    folder = servers(tmp_path, liar="none") / "liar"
    tries = f"cat {PROJECT}/README.md; touch /src/x /contract/x /build/x /etc/x; ls -d {Path.home()} /home/*; kill -9 -1; exit 9; {{port}}"
    manifest = (folder / "server.toml").read_text()
    (folder / "server.toml").write_text(
        f'{manifest.partition("[start]")[0]}[start]\ncommand = ["/../bin/sh", "-c", "{tries}"]\n'
        '[[serves]]\nworkload = "ping"\npath = "/ping"\n'
    )
    artifact = build(load_server(folder), full_image(Catalogue()))
    before = set(tmp_path.rglob("*"))
    with pytest.raises(WrkbookError, match="ended while it was starting") as caught:
        ServerProcess(artifact, free_ports(1)[0], [0]).launch()
    assert str(caught.value).count("No such file or directory") >= 2
    assert str(caught.value).count("Read-only file system") == 4
    assert set(tmp_path.rglob("*")) == before


@pytest.mark.servers
def test_what_a_server_prints_reaches_the_terminal_without_its_escapes(tmp_path, monkeypatch, cache):
    monkeypatch.setenv("XDG_CACHE_HOME", cache["XDG_CACHE_HOME"])
    chosen = settings(servers(tmp_path / "servers", liar="ends at once"))
    found, _ = measured(chosen, tmp_path / "raw")
    assert "no licence found �]0;owned�" in found["liar"].failure.message


@pytest.mark.e2e
def test_a_report_of_hostile_texts_runs_nothing_in_a_browser(tmp_path):
    run = hostile_sample()
    for frame in (run.cells, run.checks, run.comparisons):
        frame.replace({"alert\\(\\d\\)": MARKER}, regex=True, inplace=True)
    cells = [
        V4.new_code_cell(str(place), outputs=[output(*fragment._repr_mimebundle_())])
        for place, fragment in enumerate(every_fragment(run))
    ]
    cells += [
        V4.new_markdown_cell(f"## {SCRIPTS}\n\n{SCRIPTS}\n\n[x](javascript:{MARKER})"),
        V4.new_code_cell("1", outputs=[output({"text/html": SCRIPTS, "text/plain": SCRIPTS})]),
        V4.new_code_cell("2", outputs=[output({"application/javascript": MARKER, "image/svg+xml": SCRIPTS})]),
        V4.new_code_cell(
            "3", outputs=[V4.new_output("error", ename="E", evalue=SCRIPTS, traceback=[f"\x1b[31m{SCRIPTS}"])]
        ),
        V4.new_code_cell(
            "4", outputs=[V4.new_output("stream", name="stdout", text=f"\x1b]8;;javascript:{MARKER}\x07{SCRIPTS}")]
        ),
    ]
    nbformat.write(V4.new_notebook(cells=cells, metadata={"language_info": {"name": "python"}}), tmp_path / "n.ipynb")
    shown = tmp_path / "shown"
    shown.mkdir()
    write_report(tmp_path / "n.ipynb", shown / "report.html", title=SCRIPTS, headline=SCRIPTS, facts={SCRIPTS: SCRIPTS})
    requested = []
    with browser(shown, tmp_path) as chromium:
        page = chromium.new_page()
        page.on("request", lambda request: requested.append(request.url))
        page.on("dialog", lambda dialog: requested.append(dialog.message))
        page.goto("file:///src/report.html")
        page.get_by_text("Show code").first.click()
        for link in page.locator("a").all():
            assert not (link.get_attribute("href") or "").startswith("javascript:")
        # The policy itself stops a script, were one to get in.
        page.evaluate(
            "text => { const s = document.createElement('script'); s.textContent = text; document.body.append(s) }",
            MARKER,
        )
        page.wait_for_timeout(300)
        assert page.evaluate("window.owned") is None
        assert page.title() != "owned"
        assert page.locator("script").count() == 2  # the report's own, and that of the test, which was refused
    assert [url for url in requested if not url.startswith(("file:///src/report.html", "data:"))] == []
