"""The catalogue: every manifest of the project, and what is said of wrong ones."""

import pytest

from runners.errors import WrkbookError
from runners.systems.catalogue import Catalogue, load_server

MANIFEST = """
title = "Toy"
language = "C"
role = "origin"
[start]
command = ["/build/server", "{port}"]
[[serves]]
workload = "ping"
path = "/ping"
"""


def written(tmp_path, text, name="toy"):
    folder = tmp_path / name
    folder.mkdir()
    (folder / "server.toml").write_text(text)
    return folder


def test_a_complete_manifest_is_read(tmp_path):
    server = load_server(written(tmp_path, MANIFEST))
    assert (server.name, server.title, server.codecs) == ("toy", "Toy", [])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (MANIFEST + "x = 1", "serves.0.x"),
        ("colour = 1\n" + MANIFEST, "colour"),
        (MANIFEST.replace('"{port}"', '"80"'), "must pass {port} on"),
        (MANIFEST.replace('workload = "ping"', 'workload = "pong"'), "workload"),
        (MANIFEST.replace('path = "/ping"', 'path = "ping; rm"'), "path"),
        (MANIFEST.replace('role = "origin"', 'role = "boss"'), "role"),
        (
            MANIFEST.replace('title = "Toy"', 'title = "Toy"\npackages = ["g++; rm -rf /"]'),
            "not the name of a Debian package",
        ),
        ("title = ", "server.toml"),
        (MANIFEST.replace("[[serves]]", "[other]"), "other"),
    ],
)
def test_a_wrong_manifest_is_refused_with_its_field(tmp_path, text, told):
    with pytest.raises(WrkbookError) as caught:
        load_server(written(tmp_path, text))
    assert told in str(caught.value)
    assert "server.toml" in str(caught.value)


def test_a_folder_whose_name_is_no_name_is_refused(tmp_path):
    with pytest.raises(WrkbookError, match="not a name for a server"):
        load_server(written(tmp_path, MANIFEST, "Toy Server"))


def test_the_project_s_own_servers_are_all_there():
    catalogue = Catalogue()
    assert {"gin", "drogon", "beast", "httplib"} <= set(catalogue.servers)
    names = [system.name for system in catalogue.systems("decode")]
    assert sorted(names) == ["drogon+glaze", "drogon+simdjson", "drogon+yyjson", "gin+encoding/json", "gin+simdjson-go"]


def test_an_unknown_name_is_answered_with_the_nearest_known_one():
    with pytest.raises(WrkbookError, match="did you mean 'drogon'"):
        Catalogue().server("dragon")
    with pytest.raises(WrkbookError, match=r"did you mean 'drogon\+simdjson'"):
        Catalogue().system("drogon+simd", ["decode"])
