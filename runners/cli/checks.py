"""Everything that CI checks, and the lock of the dependencies.

The checks are formatting, types, notebooks without outputs, the servers' own tests, and pytest. The lock is one list for conda and pip.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path

import yaml

from runners.core.errors import WrkbookError
from runners.core.project import NOTEBOOKS, PROJECT, SERVERS, cache_folder
from runners.core.units import format_duration
from runners.measure.conformance import full_image
from runners.systems.build import CACHE_ENV, build, sources
from runners.systems.catalogue import Catalogue
from runners.systems.image import Image
from runners.systems.sandbox import Sandbox
from runners.systems.server_manifest import Server
from runners.systems.skeleton import SKELETON

ENVIRONMENT = PROJECT / "environment.yml"
LOCK = PROJECT / "requirements.lock"
_CONDA_ONLY = ("python", "pip")

FAULTS, SOAK_MINUTES = "WRKBOOK_FAULTS", "WRKBOOK_SOAK_MINUTES"
"""Environment variables that tell the tests to run the full form of the fault suite, and for how long to soak."""


def requirements(environment: Path = ENVIRONMENT) -> list[str]:
    """The pip requirements that ``environment.yml`` stands for, without the project itself."""
    found: list[str] = []
    for entry in yaml.safe_load(environment.read_text())["dependencies"]:
        lines = entry["pip"] if isinstance(entry, dict) else [entry]
        found += [line for line in lines if not line.startswith("-e") and line.split()[0] not in _CONDA_ONLY]
    return found


def write_lock() -> None:
    """Resolve every transitive version, with hashes, for all platforms and Python versions that wrkbook supports."""
    command = ["uv", "pip", "compile", "-", "--universal", "--python-version", "3.11", "--generate-hashes"]
    command += ["--no-annotate", "--no-header", "--quiet", "--output-file", str(LOCK)]
    subprocess.run(command, input="\n".join(requirements()), text=True, check=True, cwd=PROJECT)
    text = LOCK.read_text()
    LOCK.write_text(f"# Generated from environment.yml by `./wrkbook lock`.\n{text}")


def run_faults(soak_minutes: float, pytest_arguments: Sequence[str]) -> int:
    """Run tests in their full form: every fault, ten times the examples, notebooks as they are; returns the exit status."""
    os.environ |= {FAULTS: "1", SOAK_MINUTES: str(soak_minutes)}
    return run_checks(pytest_arguments or ["tests"])


SLOWEST = "--durations=10"
"""pytest's option that lists the ten slowest tests."""


_BRIEF = ["--quiet", "--no-header"]


UNIT_TESTS = ["-m", "not (e2e or servers or full or quiet)", "--numprocesses", "3", "--dist", "worksteal", *_BRIEF]
"""pytest's options for the tests that need no image, no built server, no notebook and no browser: side by side."""


_BY_FILE = ["--numprocesses", "4", "--dist", "loadscope", "--no-loadscope-reorder"]


SIDE_BY_SIDE = ["-m", "not (full or quiet)", *_BY_FILE, *_BRIEF]
"""pytest's options for all tests that need no quiet machine: side by side, those of a file in one worker.

Tests of servers often wait, and begin first (``tests/conftest.py``): unit tests use what they leave of the CPUs.
"""


QUIET_TESTS = ["-m", "full or quiet"]
"""pytest's options for the tests that measure or judge delays: one after another."""


def run_fast_checks(pytest_arguments: Sequence[str]) -> int:
    """Run formatting, types and the unit tests, without the image; returns the exit status."""
    tests = {"unit tests": _pytest(*UNIT_TESTS, *(pytest_arguments or [SLOWEST]))}
    failed = _failing(_static_checks())
    return _conclude(failed + [name for name, command in tests.items() if not _passes(name, command)])


SPELLED = (
    "runners",
    "notebooks",
    "docs",
    "servers",
    "tests",
    "benchmarks",
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
)
"""What the spell checker reads."""


GO_CHECKS = {
    # gofmt exits with 0 whatever it finds: grep makes a list that is not empty a failure.
    "gofmt": ["sh", "-c", "! gofmt -l . | grep ."],
    "go vet": ["go", "vet", "./..."],
    "go test": ["go", "test", "./..."],
}
CARGO_CHECKS = {
    "cargo fmt": ["cargo", "fmt", "--check"],
    "cargo clippy": ["cargo", "clippy", "--locked", "--all-targets", "--all-features", "--", "--deny", "warnings"],
}
CARGO_TESTS = {"cargo test": ["cargo", "test", "--locked", "--all-features"]}


def run_checks(pytest_arguments: Sequence[str]) -> int:
    """Run all checks; returns the exit status. With arguments, only pytest is run, with these."""
    image = full_image(Catalogue())
    image.ensure()
    groups = {"tests side by side": SIDE_BY_SIDE, "quiet tests": QUIET_TESTS}
    tests = {name: _pytest(*options, SLOWEST) for name, options in groups.items()}
    failed: list[str] = []
    if pytest_arguments:
        tests = {"pytest": _pytest(*pytest_arguments)}
    else:
        checks = _static_checks()
        for module in [*sorted(SERVERS.glob("*/go.mod")), *SERVERS.glob("shared/*/go.mod"), SKELETON / "go.mod"]:
            checks |= _checks_inside(image, module.parent, GO_CHECKS)
        # The servers in Rust have no tests of their own: what they share has.
        for main in sorted(SERVERS.glob("*/src/main.rs")):
            checks |= _checks_inside(image, main.parent.parent, CARGO_CHECKS)
        for library in SERVERS.glob("shared/*/src/lib.rs"):
            checks |= _checks_inside(image, library.parent.parent, CARGO_CHECKS | CARGO_TESTS)
        for server in Catalogue().servers.values():
            if server.start is not None and (server.folder / "package.json").exists():
                checks |= _node_checks(image, server)
        failed = _failing(checks)
    return _conclude(failed + [name for name, command in tests.items() if not _passes(name, command)])


def _pytest(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "pytest", *arguments]


def _environment() -> dict[str, str]:
    """Return the environment of pytest: bytecode is kept in the cache folder where the user's forbids it beside the sources.

    Without it, each worker rewrites the assertions of all tests anew, which is a third of the time until the first test.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept if len(kept) == len(os.environ) else {**kept, "PYTHONPYCACHEPREFIX": str(cache_folder() / "bytecode")}


def _conclude(failed: Sequence[str]) -> int:
    """Return exit status 0, or name the checks that failed."""
    if failed:
        raise WrkbookError(f"checks failed: {', '.join(failed)}", "see their output above")
    print("\nall checks passed")
    return 0


def check_go(paths: Sequence[str]) -> int:
    """The checks of the Go modules to which the files `paths` belong, for pre-commit; returns the exit status."""
    image = full_image(Catalogue())
    image.ensure()
    folders = dict.fromkeys(Path(path).resolve().parent for path in paths)
    modules = [folder for folder in folders if (folder / "go.mod").exists()]
    checks = {name: command for folder in modules for name, command in _checks_inside(image, folder, GO_CHECKS).items()}
    return 1 if _failing(checks) else 0


def _static_checks() -> dict[str, list[str]]:
    python = [sys.executable, "-m"]
    notebooks = [str(path) for path in sorted(NOTEBOOKS.glob("*.ipynb"))]
    sources = [str(path) for path in sorted(SERVERS.glob("*/*")) if path.suffix in (".cc", ".cpp", ".h", ".hpp")]
    bin_folder = Path(sys.executable).parent
    return {
        "ruff check": [*python, "ruff", "check", "--quiet", "."],
        "ruff format": [*python, "ruff", "format", "--check", "--quiet", "."],
        # Its cache serves each checkout: a new one would wait for mypy alone.
        "mypy": [*python, "mypy", "--cache-dir", str(cache_folder() / "mypy")],
        "nbstripout": [str(bin_folder / "nbstripout"), "--verify", *notebooks],
        # Its settings, and the words that it takes for wrong and that are not, are in pyproject.toml.
        "codespell": [str(bin_folder / "codespell"), *SPELLED],
        "clang-format": [str(bin_folder / "clang-format"), "--dry-run", "--Werror", *sources],
    }


def _checks_inside(image: Image, folder: Path, commands: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return the commands that check a Go module or a crate, inside the image."""
    cache = cache_folder() / "build-cache"
    cache.mkdir(exist_ok=True)
    sandbox = Sandbox(
        image,
        read_only=sources(folder),
        writable={"/cache": cache},
        env=CACHE_ENV,
        workdir="/src",
        builds=True,
    )
    return {f"{folder.name}: {what}": sandbox.command(command) for what, command in commands.items()}


def _node_checks(image: Image, server: Server) -> dict[str, list[str]]:
    """The tests of a Node server, where it was built: only there are the packages that it imports."""
    command = replace(build(server, image).sandbox(), workdir="/build").command(["node", "--test"])
    return {f"{server.name}: node --test": command}


def _failing(checks: Mapping[str, list[str]]) -> list[str]:
    """Run commands side by side, print the output of each in one piece when it has ended, and return the names of those that failed."""

    def run(name: str) -> tuple[str, str, str, bool]:
        started = time.monotonic()
        ended = subprocess.run(checks[name], cwd=PROJECT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return name, ended.stdout, format_duration(time.monotonic() - started), ended.returncode == 0

    failed = []
    with ThreadPoolExecutor(os.cpu_count()) as workers:
        for done in as_completed([workers.submit(run, name) for name in checks]):
            name, output, duration, passed = done.result()
            print(f"\n== {name}: {'passed' if passed else 'FAILED'} in {duration}\n{output}".rstrip(), flush=True)
            failed += [] if passed else [name]
    return failed


def _passes(name: str, command: list[str]) -> bool:
    print(f"\n== {name}", flush=True)
    started = time.monotonic()
    passed = subprocess.run(command, cwd=PROJECT, env=_environment()).returncode == 0
    print(f"== {name}: {'passed' if passed else 'FAILED'} in {format_duration(time.monotonic() - started)}", flush=True)
    return passed


if __name__ == "__main__":
    sys.exit(check_go(sys.argv[1:]))
