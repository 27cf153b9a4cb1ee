"""Servers of another git revision: exported into the cache, and found as builds beside the present ones."""

import subprocess

import pytest

from runners.core.errors import WrkbookError
from runners.core.project import cache_folder
from runners.core.records import System
from runners.core.run_manifest import Shade
from runners.measure.design import design
from runners.systems import revisions
from runners.systems.build import sources
from runners.systems.catalogue import Catalogue
from tests.systems.test_catalogue import MANIFEST


def git(folder, *words):
    own = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    return subprocess.run(
        ["git", "-C", folder, *own, *words], check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A repository with two servers and what one of them shares, each in its first state."""
    folder = tmp_path / "project"
    for name in ("toy", "other"):
        (folder / "servers" / name).mkdir(parents=True)
        (folder / "servers" / name / "server.toml").write_text(MANIFEST)
    (folder / "servers/toy/main.c").write_text("old")
    (folder / "servers/toy/go.mod").write_text("replace shared => ../shared/batch\n")
    (folder / "servers/shared").mkdir()
    (folder / "servers/shared/batch.go").write_text("old")
    git(folder.parent, "init", "-q", folder)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    monkeypatch.setattr(revisions, "REPOSITORY", folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


def test_a_build_of_another_revision_stands_beside_the_present_one_with_its_own_sources(project):
    commit = revisions.commit_of("HEAD")
    (project / "servers/toy/main.c").write_text("new")
    with revisions.export(commit) as name:
        catalogue = Catalogue(project / "servers")
        before = catalogue.server(f"toy+{name}")
        assert (before.folder / "main.c").read_text() == "old"
        assert (sources(before.folder)["/shared"] / "batch.go").read_text() == "old"
        assert catalogue.variants == {name: ["other", "toy"]}
        assert before.model_copy(update={"hue": "blue"}).shade(before.every_system[0]) == Shade(
            hue="blue", place=1, of=2
        )
        assert [system.name for system in catalogue.systems("ping", variants=[name])] == [
            *("other", f"other+{name}", "toy", f"toy+{name}")
        ]


def test_an_earlier_build_is_measured_beside_the_present_one_and_is_marked(project):
    with revisions.export(revisions.commit_of("HEAD")) as name:
        found = design(Catalogue(project / "servers"), ["ping"], systems=["toy"], variants=[name], floor="discard")
    assert [cell.system for cell in found.cells] == [
        *(System("toy"), System("toy", variant=name, earlier=True), System("toy", control=True))
    ]
    assert found.pairs == ((found.cells[0].system, found.cells[1].system),)
    assert found.floor is None


def test_nothing_is_left_of_an_export_even_of_one_that_was_killed(project):
    left = cache_folder() / "revisions" / "0123456789ab" / "servers"
    left.mkdir(parents=True)
    with revisions.export(revisions.commit_of("HEAD")) as name:
        assert list(Catalogue(project / "servers").variants) == [name]
    assert Catalogue(project / "servers").variants == {}
    assert list(left.parent.parent.iterdir()) == []


def test_what_cannot_be_read_today_is_no_build(project):
    (project / "servers/toy/server.toml").write_text("title = 1")
    git(project, "commit", "-qam", "broken")
    commit = revisions.commit_of("HEAD")
    git(project, "checkout", "-q", "HEAD~1")
    with revisions.export(commit) as name:
        assert Catalogue(project / "servers").variants == {name: ["other"]}


def test_changed_servers_are_those_with_a_changed_or_a_new_file(project):
    commit = revisions.commit_of("HEAD")
    assert revisions.changed_servers(commit) == set()
    assert not revisions.is_dirty()
    (project / "servers/toy/main.c").write_text("new")
    (project / "servers/shared/more.go").write_text("new")
    assert revisions.changed_servers(commit) == {"toy", "shared"}
    assert revisions.is_dirty()


@pytest.mark.parametrize("revision", ["nothing", "--help", "-x", ""])
def test_an_unknown_revision_is_refused_by_name(project, revision):
    with pytest.raises(WrkbookError, match=f"there is no revision '{revision}'"):
        revisions.commit_of(revision)


def test_outside_a_repository_the_error_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(revisions, "REPOSITORY", tmp_path)
    with pytest.raises(WrkbookError, match="is no git repository"):
        revisions.commit_of("HEAD")


def test_an_export_that_cannot_be_written_is_an_error_and_leaves_nothing(project, monkeypatch):
    commit, real = revisions.commit_of("HEAD"), revisions._git
    monkeypatch.setattr(revisions, "_git", lambda *words, **more: b"no tar" if words[0] == "archive" else real(*words))
    with pytest.raises(WrkbookError, match="cannot be exported: tar: "), revisions.export(commit):
        pass
    assert not list((cache_folder() / "revisions").iterdir())
