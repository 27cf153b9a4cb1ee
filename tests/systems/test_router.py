"""Drogon's rows go through Drogon's own router, and no server gives its files away."""

from contextlib import ExitStack

import pytest

from runners.contract.data import request_body
from tests import plain_http
from tests.systems.conftest import NAMES

pytestmark = pytest.mark.servers
ON_DROGON = [name for name in NAMES if name.startswith("drogon")]
FILES = ("/server.toml", "/CMakeLists.txt", "/main.cc", "/go.mod", "/main.go", "/package.json", "/app.js")


@pytest.fixture(scope="module")
def urls(launch):
    """Server → its URL; each is launched once."""
    with ExitStack() as stack:
        yield {name: stack.enter_context(launch(name)).url for name in NAMES}


@pytest.mark.parametrize("name", ON_DROGON)
def test_a_path_is_found_in_any_case_of_its_letters(urls, name):
    """Drogon's router lower-cases paths and ignores case in patterns; a dispatcher in front of it would response 404."""
    found = [
        plain_http.post(f"{urls[name]}{path}/d/t", content=request_body(1)).status_code
        for path in ("/dbopsimd", "/DBOPSIMD", "/dbOpGlaze", "/DBOPyyjson")
    ]
    assert found == [200] * 4


@pytest.mark.parametrize("name", ON_DROGON)
def test_an_encoded_slash_is_a_separator_to_the_router(urls, name):
    assert plain_http.post(f"{urls[name]}/dbopsimd/a%2Fb/t", content=request_body(1)).status_code == 404


def test_a_wrong_method_names_the_allowed_ones_on_every_kind_of_path(urls):
    for method in ("PUT", "DELETE", "PATCH"):
        for path, allowed in (("/ping", "GET, HEAD"), ("/ping/delay/1", "GET, HEAD"), ("/dbop/d/t/echo", "POST")):
            response = plain_http.request(method, f"{urls['drogon']}{path}")
            assert (response.status_code, response.headers["allow"]) == (405, allowed)


@pytest.mark.parametrize("name", NAMES)
def test_the_files_of_a_server_are_unknown_paths(urls, name):
    assert {plain_http.get(f"{urls[name]}{path}").status_code for path in FILES} == {404}


@pytest.mark.parametrize("length", [300, 30_000, 60_000])
def test_a_long_parameter_is_refused_and_ends_no_process(urls, length):
    """The router matches with std::regex, which recurses once for each character."""
    path = f"{urls['drogon']}/discard/{'a' * length}/t"
    assert plain_http.post(path, content=b"").status_code == 400
    assert plain_http.get(f"{urls['drogon']}/ping").status_code == 200
