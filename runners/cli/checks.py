"""Everything that CI checks: formatting, types, notebooks without outputs, the servers' own tests, and pytest."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from runners.core.errors import WrkbookError
from runners.core.folders import NOTEBOOKS, PROJECT, SERVERS, cache_folder
from runners.core.units import format_duration
from runners.measure.conformance import full_image
from runners.systems.build import CACHE_ENV, build, sources
from runners.systems.catalogue import Catalogue, Server
from runners.systems.image import Image
from runners.systems.sandbox import Sandbox
from runners.systems.skeleton import SKELETON

FAULTS, SOAK_MINUTES = "WRKBOOK_FAULTS", "WRKBOOK_SOAK_MINUTES"
"""Environment variables that tell the tests to run the full form of the fault suite, and for how long to soak."""


def run_faults(soak_minutes: float, pytest_arguments: Sequence[str]) -> int:
    """Run the full form of the fault suite and of the notebooks; returns the exit status."""
    os.environ |= {FAULTS: "1", SOAK_MINUTES: str(soak_minutes)}
    return run_checks(["tests/faults", "tests/e2e", *pytest_arguments])


SLOWEST = "--durations=10"
"""pytest's option that lists the ten slowest tests."""
_ALONE = "e2e or servers or full"
UNIT_TESTS = ["-m", f"not ({_ALONE})", "--numprocesses", "3", "--dist", "worksteal", "--quiet", "--no-header"]
"""pytest's options for the tests that need no image, no built server, no notebook and no browser: side by side."""
OTHER_TESTS = ["-m", _ALONE]
"""pytest's options for the other tests: one after another, because they measure or hold ports."""


def run_fast_checks(pytest_arguments: Sequence[str]) -> int:
    """Run formatting, types and the unit tests, without the image; returns the exit status."""
    tests = {"unit tests": _pytest(*UNIT_TESTS, *(pytest_arguments or [SLOWEST]))}
    return _conclude([name for name, command in {**_static_checks(), **tests}.items() if not _passes(name, command)])


GO_CHECKS = {
    # gofmt exits with 0 whatever it finds: grep turns a list that is not empty into a failure.
    "gofmt": ["sh", "-c", "! gofmt -l . | grep ."],
    "go vet": ["go", "vet", "./..."],
    "go test": ["go", "test", "./..."],
}


def run_checks(pytest_arguments: Sequence[str]) -> int:
    """Run all checks; returns the exit status. With arguments, only pytest is run, with these."""
    image = full_image(Catalogue())
    image.ensure()
    failed: list[str] = []
    if not pytest_arguments:
        for name, command in _static_checks().items():
            failed += [name] if not _passes(name, command) else []
        for module in [*sorted(SERVERS.glob("*/go.mod")), SKELETON / "go.mod"]:
            failed += _go_checks(image, module.parent)
        for server in Catalogue().servers.values():
            if server.start is not None and (server.folder / "package.json").exists():
                failed += [f"{server.name}: {what}" for what in _node_checks(image, server)]
    tests = {"unit tests": _pytest(*UNIT_TESTS, SLOWEST), "other tests": _pytest(*OTHER_TESTS, SLOWEST)}
    for name, command in ({"pytest": _pytest(*pytest_arguments)} if pytest_arguments else tests).items():
        failed += [name] if not _passes(name, command) else []
    return _conclude(failed)


def _pytest(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "pytest", *arguments]


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
    failed = [name for folder in folders if (folder / "go.mod").exists() for name in _go_checks(image, folder)]
    return 1 if failed else 0


def _static_checks() -> dict[str, list[str]]:
    python = [sys.executable, "-m"]
    notebooks = [str(path) for path in sorted(NOTEBOOKS.glob("*.ipynb"))]
    sources = [str(path) for path in sorted(SERVERS.glob("*/*")) if path.suffix in (".cc", ".cpp", ".h", ".hpp")]
    bin_folder = Path(sys.executable).parent
    return {
        "ruff check": [*python, "ruff", "check", "--quiet", "."],
        "ruff format": [*python, "ruff", "format", "--check", "--quiet", "."],
        "mypy": [*python, "mypy"],
        "nbstripout": [str(bin_folder / "nbstripout"), "--verify", *notebooks],
        "clang-format": [str(bin_folder / "clang-format"), "--dry-run", "--Werror", *sources],
    }


def _go_checks(image: Image, folder: Path) -> list[str]:
    """gofmt, vet and the tests of a Go server, inside the image."""
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
    named = {f"{folder.name}: {what}": command for what, command in GO_CHECKS.items()}
    return [name for name, command in named.items() if not _passes(name, sandbox.command(command))]


def _node_checks(image: Image, server: Server) -> list[str]:
    """The tests of a Node server, where it was built: only there are the packages that it imports."""
    command = replace(build(server, image).sandbox(), workdir="/build").command(["node", "--test"])
    return [] if _passes(f"{server.name}: node --test", command) else ["node --test"]


def _passes(name: str, command: list[str]) -> bool:
    print(f"\n== {name}", flush=True)
    started = time.monotonic()
    passed = subprocess.run(command, cwd=PROJECT).returncode == 0
    print(f"== {name}: {'passed' if passed else 'FAILED'} in {format_duration(time.monotonic() - started)}", flush=True)
    return passed


if __name__ == "__main__":
    sys.exit(check_go(sys.argv[1:]))
