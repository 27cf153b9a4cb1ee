"""Every decode path under hostile requests, held against the reference decoder: the same bodies, the same receipts."""

import os
import signal
import subprocess
from contextlib import ExitStack
from itertools import islice

import psutil
import pytest

from runners.contract.connection import Connection, NoResponseError
from runners.contract.decoder.reference import judge, normalised
from runners.contract.findings import Message
from runners.contract.responses import body_difference
from runners.core.project import SERVERS, cache_folder
from runners.measure.conformance import build_all, full_image
from runners.systems.build import CACHE_ENV, Artifact, artifact, sources
from runners.systems.catalogue import Catalogue
from runners.systems.sandbox import Sandbox
from tests.conftest import FULL
from tests.faults.mutations import bodies
from tests.faults.servers import decoding, launched

pytestmark = pytest.mark.servers
# Requests to each of the decoders: half of them to decode, the same again to encode what was decoded.
REQUESTS_COUNT = int(os.environ.get("WRKBOOK_FAULTS_REQUESTS", 100_000 if FULL else 2_000))
_TOGETHER = 25
_GROWN_BYTES = 64 << 20
_FUZZ_S = 60
_SANITIZERS = {"ASAN_OPTIONS": "abort_on_error=1:detect_leaks=0", "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1"}


class Decoder:
    """One service of a running server, and what was wrong with its responses."""

    def __init__(self, process, service):
        self.name = f"{process.name}+{service.codec} {service.workload}"
        self.process, self.service, self.connection = process, service, Connection(process.url, timeout_s=20.0)
        self.target = service.path.replace("{db}", "a").replace("{table}", "b")

    def responses(self, sent):
        """The responses to bodies sent back to back on one connection; one after the other, where it was closed between."""
        messages, found = [Message("POST", self.target, body) for body in sent], []
        try:
            for message in messages:
                self.connection.send(message)
            for _ in messages:
                found.append(self.connection.receive())
        except NoResponseError:
            self.connection.close()
        for message in messages[len(found) :]:
            found.append(self.connection.request(message))
        return found

    def differences(self, sent, verdicts):
        """What is wrong with each response."""
        for body, verdict, response in zip(sent, verdicts, self.responses(sent), strict=True):
            if response.status not in verdict.statuses:
                yield f"{self.name}: {response.status} instead of {set(verdict.statuses)} ({verdict.reason}) for {body!r}"
            elif response.status != 200 or verdict.receipt is not None:
                expect = {}
                if verdict.receipt is not None:
                    expect = {"receipt": verdict.receipt.as_json(), "echo": normalised(verdict.batch)}
                if difference := body_difference(response, self.service.workload, expect, body):
                    yield f"{self.name}: {difference} for {body!r}"


def hold_against_the_reference_decoder(processes, seed, count):
    """Send `count` bodies to every decoder of running servers; returns how many were accepted, and what was wrong."""
    decoders = [
        Decoder(process, service)
        for process in processes
        for service in process.artifact.server.serves
        if service.workload in ("decode", "roundtrip")
    ]
    stream, accepted, wrong = bodies(seed, count), 0, []
    while sent := list(islice(stream, _TOGETHER)):
        verdicts = [judge(body) for body in sent]
        accepted += sum(200 in verdict.statuses for verdict in verdicts)
        for decoder in decoders:
            wrong += decoder.differences(sent, verdicts)
        if len(wrong) > 5:
            break
    for decoder in decoders:
        decoder.connection.close()
    return accepted, wrong


def memory_bytes(process):
    return sum(psutil.Process(pid).memory_info().rss for pid in process.pids)


def test_every_decoder_judges_hostile_bodies_as_the_reference_decoder_does(record_property):
    with ExitStack() as stack:
        processes = launched(stack, list(build_all(Catalogue(), decoding()).values()))
        _, wrong = hold_against_the_reference_decoder(processes, 1, 500)
        assert wrong == []
        before = {process.name: memory_bytes(process) for process in processes}
        accepted, wrong = hold_against_the_reference_decoder(processes, 8, REQUESTS_COUNT // 2)
        record_property("accepted", accepted)
        assert wrong == []
        assert 0.1 * REQUESTS_COUNT < accepted < 0.45 * REQUESTS_COUNT
        for process in processes:
            assert process.alive
            assert process.output() == ""
            assert memory_bytes(process) - before[process.name] < _GROWN_BYTES


def sanitized(server):
    """A build with the address and undefined-behaviour sanitizers, as its own build files offer it; cached."""
    plain = build_all(Catalogue(), [server])[server.name]
    built = Sanitized(server, plain.image, artifact(server, plain.image).key)
    if not (built.folder / "server").exists():
        built.folder.mkdir(parents=True, exist_ok=True)
        writable = {"/build": built.folder, "/cache": cache_folder() / "build-cache"}
        sandbox = Sandbox(built.image, sources(server.folder), writable, CACHE_ENV, "/src", builds=True)
        for command in server.build.commands:
            flags = ["-DWRKBOOK_SANITIZE=ON"] if "-S" in command else []
            subprocess.run(sandbox.command([*command, *flags]), check=True, capture_output=True)
    return built


class Sanitized(Artifact):
    """A build of its own beside the one that is measured."""

    @property
    def folder(self):
        return cache_folder() / "builds" / f"{self.server.name}-{self.key}-sanitized"

    def sandbox(self):
        plain = super().sandbox()
        return Sandbox(plain.image, plain.read_only, env=plain.env | _SANITIZERS, workdir=plain.workdir)


@pytest.mark.full
def test_no_hostile_body_makes_a_sanitizer_speak():
    offering = [
        server
        for server in decoding()
        if "WRKBOOK_SANITIZE" in "".join(path.read_text() for path in server.folder.glob("CMakeLists.txt"))
    ]
    assert offering
    with ExitStack() as stack:
        processes = launched(stack, [sanitized(server) for server in offering])
        _, wrong = hold_against_the_reference_decoder(processes, 9, REQUESTS_COUNT // 2)
        assert [process.output() for process in processes] == [""] * len(processes)
        assert wrong == []
        for process in processes:
            assert process.end() in (0, -signal.SIGTERM)
            assert "anitizer" not in process.output()
            assert "runtime error" not in process.output()


@pytest.mark.full
@pytest.mark.parametrize(
    "folder", [path.parent for path in SERVERS.rglob("fuzz_test.go")], ids=lambda folder: folder.name
)
def test_coverage_guided_fuzzing_finds_nothing(folder, tmp_path):
    image = full_image(Catalogue())
    image.ensure()
    read_only = {inside: outside for inside, outside in sources(folder).items() if inside != "/src"}
    # A copy: what the fuzzer finds is written beside the test.
    subprocess.run(["cp", "-r", folder, tmp_path / "src"], check=True)
    writable = {"/src": tmp_path / "src", "/cache": cache_folder() / "build-cache"}
    sandbox = Sandbox(image, read_only, writable, CACHE_ENV, "/src", builds=True)
    command = ["go", "test", "-fuzz", "Fuzz", "-fuzztime", f"{_FUZZ_S}s", "-run", "^$", "."]
    outcome = subprocess.run(sandbox.command(command), capture_output=True, text=True)
    assert outcome.returncode == 0, outcome.stdout[-3000:] + outcome.stderr[-1000:]
