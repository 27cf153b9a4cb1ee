"""Every decode path under requests that schemathesis makes from the contract's OpenAPI document: what it allows, and what it forbids."""

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from runners.measure.conformance import build_all
from runners.systems.catalogue import Catalogue
from tests.conftest import FULL
from tests.faults.servers import decoding, launched

pytestmark = pytest.mark.servers
DOCUMENT = Path("servers/contract/openapi.yaml")
EXAMPLES_COUNT = int(os.environ.get("WRKBOOK_FAULTS_EXAMPLES", 400 if FULL else 5))
DECODED = ("decode", "roundtrip")
CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
]
OPTIONS = {
    "--checks": ",".join(CHECKS),
    "--phases": "examples,fuzzing",
    "--seed": "1",
    "--max-examples": str(EXAMPLES_COUNT),
    "--suppress-health-check": "all",
}


def without_longest_lists(part: Any) -> Any:
    """The document without the limits of its lists, to which schemathesis fills them: no body would be within 4 MiB."""
    if isinstance(part, dict):
        return {name: without_longest_lists(value) for name, value in part.items() if name != "maxItems"}
    return [without_longest_lists(value) for value in part] if isinstance(part, list) else part


@pytest.mark.parametrize("server", decoding(), ids=lambda server: server.name)
def test_what_schemathesis_makes_of_the_openapi_document_gets_the_responses_that_it_describes(server, tmp_path):
    with ExitStack() as stack:
        (process,) = launched(stack, list(build_all(Catalogue(), [server]).values()))
        document = tmp_path / "openapi.yaml"
        document.write_text(yaml.safe_dump(without_longest_lists(yaml.safe_load(DOCUMENT.read_text()))))
        paths = [("--include-path", service.path) for service in server.serves if service.workload in DECODED]
        words = [word for pair in (*OPTIONS.items(), *paths) for word in pair]
        program = Path(sys.executable).parent / "schemathesis"
        command = [program, "run", document, "--url", process.url, "--continue-on-failure", "--no-color", *words]
        found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=7200)
        assert found.returncode == 0, found.stdout[-6000:] + found.stderr[-2000:]
        assert process.alive
        assert process.output() == ""
