"""Tuned builds: declared in the manifest, found by their label, guided by a profile that wrkbook records."""

import json
from dataclasses import replace

import pytest

from runners.core.errors import WrkbookError
from runners.core.records import System
from runners.measure.conformance import build_all, full_image, verify_server
from runners.measure.this_machine import plan_here
from runners.systems.build import artifact, build, profile_folder, profile_key
from runners.systems.catalogue import Catalogue
from runners.systems.image import Image
from runners.systems.server_manifest import load_server
from tests.systems.test_catalogue import MANIFEST, written

TUNED = (
    MANIFEST.replace("[start]", '[build]\nflags = "-O2"\nenv = {CC = "gcc"}\n[start]\nenv = {HEAP = "1"}')
    + """
[variants.pgo]
flags = "guided"
packages = ["libx-dev"]
build_env = {CC = "gcc -fprofile-use=/profile"}
start_env = {HEAP = "2"}
[variants.pgo.records]
build_env = {CC = "gcc -fprofile-generate=/profile"}
arguments = ["--profile"]
[variants.big]
start_env = {HEAP = "3"}
"""
)


@pytest.fixture
def catalogue(tmp_path):
    written(tmp_path, TUNED)
    return Catalogue(tmp_path)


def test_a_tuned_build_has_the_same_source_with_what_its_table_changes(catalogue):
    plain, tuned = catalogue.server("toy"), catalogue.server("toy+pgo")
    assert (plain.folder, plain.serves) == (tuned.folder, tuned.serves)
    assert (plain.variant, tuned.variant, tuned.label, tuned.packages) == (None, "pgo", "toy+pgo", ["libx-dev"])
    assert tuned.stated("") == "-O2; guided; CC = gcc -fprofile-use=/profile; HEAP = 2"
    assert plain.stated("") == "-O2; CC = gcc; HEAP = 1"
    assert tuned.every_system == [System("toy", variant="pgo")]
    assert "libx-dev" in full_image(catalogue).packages


def test_the_profile_is_recorded_by_the_plain_server_with_other_flags_and_arguments(catalogue):
    recording = catalogue.server("toy+pgo").recording
    assert (recording.label, recording.recording) == ("toy", None)
    assert recording.build.env == {"CC": "gcc -fprofile-generate=/profile"}
    assert (recording.start.command, recording.start.env) == (["/build/server", "{port}", "--profile"], {"HEAP": "1"})
    assert catalogue.server("toy").start.command == ["/build/server", "{port}"]
    assert catalogue.server("toy+big").recording is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('variant = "pgo"\n' + MANIFEST, "table [variants.NAME]"),
        (MANIFEST + "[variants.Pgo]\n", "variants"),
        (MANIFEST + "[variants.pgo]\ncommands = []\n", "variants.pgo.commands"),
        (MANIFEST + '[variants.pgo]\nbuild_env = {"a b" = "1"}\n', "variants.pgo.build_env"),
        (MANIFEST + 'codec = "pgo"\n[variants.pgo]\n', "pgo is the name of a codec"),
    ],
)
def test_a_wrong_table_of_a_tuned_build_is_refused(tmp_path, text, told):
    with pytest.raises(WrkbookError) as caught:
        load_server(written(tmp_path, text))
    assert told in str(caught.value)


@pytest.mark.parametrize(("names", "servers"), [(["pog"], ()), (["pgo", "pog"], ()), (["big"], {"gin"})])
def test_an_unknown_variant_is_refused_with_those_that_there_are(catalogue, names, servers):
    with pytest.raises(WrkbookError) as caught:
        catalogue.check_variants(names, servers)
    assert "big (toy); pgo (toy)" in caught.value.remedy
    assert names[-1] in caught.value.problem


def test_a_variant_is_a_field_and_its_label_is_made_in_one_place():
    system = System("gin", "encoding/json", "pgo")
    assert (system.name, system.build, system.plain.name) == ("gin+encoding/json+pgo", "gin+pgo", "gin+encoding/json")
    assert replace(system, control=True).repeats(system)
    assert not replace(system, control=True).repeats(system.plain)


def test_a_build_without_its_profile_says_how_to_record_it(catalogue, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(Image, "versions", {})
    tuned, image = catalogue.server("toy+pgo"), Image(())
    with pytest.raises(WrkbookError, match=r"toy\+pgo has no profile yet"):
        build(tuned, image)
    folder = profile_folder(tuned, image)
    folder.mkdir(parents=True)
    before = artifact(tuned, image)
    (folder / "main.gcda").write_bytes(b"counts")
    after = artifact(tuned, image)
    assert (before.profile, after.profile) == ("", profile_key(folder))
    assert len({before.key, after.key, artifact(catalogue.server("toy"), image).key}) == 3


@pytest.mark.servers
@pytest.mark.parametrize("label", ["gin+pgo", "drogon+mimalloc"])
def test_a_tuned_build_keeps_the_contract_and_states_its_flags(label):
    catalogue, plan = Catalogue(), plan_here()
    built = build_all(catalogue, [catalogue.server(label)])[label]
    assert verify_server(built, plan.server, plan.backend, again=False) == []
    record = json.loads((built.folder / "wrkbook-build.json").read_text())
    assert catalogue.server(label).variants[built.server.variant].flags in record["flags"]
    assert bool(built.profile) == (built.server.recording is not None)
