"""Every decode path under requests that schemathesis makes from the contract's OpenAPI document: what it allows, and what it forbids."""

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from runners.measure.verify import build_all
from runners.systems.catalogue import Catalogue
from tests.faults.conftest import FULL
from tests.faults.servers import decoding, launched

pytestmark = pytest.mark.servers
DOCUMENT = Path("servers/contract/openapi.yaml").resolve()
EXAMPLES_COUNT = int(os.environ.get("WRKBOOK_FAULTS_EXAMPLES", 4_000 if FULL else 20))
CHECKS = ("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance",
          "response_schema_conformance", "negative_data_rejection", "unsupported_method")  # fmt: skip


@pytest.mark.parametrize("server", decoding(), ids=lambda server: server.name)
def test_what_schemathesis_makes_of_the_openapi_document_is_answered_as_that_says(server, tmp_path):
    with ExitStack() as stack:
        (process,) = launched(stack, list(build_all(Catalogue(), [server]).values()))
        paths = [service.path for service in server.serves if service.codec]
        command = [
            str(Path(sys.executable).parent / "schemathesis"),
            "run",
            str(DOCUMENT),
            "--url",
            process.url,
            "--seed",
            "1",
        ]
        command += [
            "--checks",
            ",".join(CHECKS),
            "--phases",
            "examples,coverage,fuzzing",
            "--max-examples",
            str(EXAMPLES_COUNT),
        ]
        command += ["--continue-on-failure", "--suppress-health-check", "all", "--no-color"]
        for path in paths:
            command += ["--include-path", path]
        found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=7200)
        assert found.returncode == 0, found.stdout[-6000:] + found.stderr[-2000:]
        assert process.alive
        assert process.output() == ""
