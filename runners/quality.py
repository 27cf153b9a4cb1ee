"""Everything that CI checks: formatting, types, notebooks without outputs, the servers' own tests, and pytest."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from runners.errors import WrkbookError
from runners.folders import NOTEBOOKS, PROJECT, SERVERS, cache_folder
from runners.measure.verify import full_image
from runners.systems.build import CACHE_ENV
from runners.systems.catalogue import Catalogue
from runners.systems.image import Image
from runners.systems.sandbox import Sandbox
from runners.units import format_duration


def run_checks(pytest_arguments: Sequence[str]) -> int:
    """Run all checks; returns the exit status. With arguments, only pytest is run, with these."""
    image = full_image(Catalogue())
    image.ensure()
    failed: list[str] = []
    if not pytest_arguments:
        for name, command in _static_checks().items():
            failed += [name] if not _passes(name, command) else []
        for server in Catalogue().servers.values():
            if (server.folder / "go.mod").exists():
                failed += [f"{server.name}: {what}" for what in _go_checks(image, server.folder)]
    if not _passes("pytest", [sys.executable, "-m", "pytest", *pytest_arguments]):
        failed.append("pytest")
    if failed:
        raise WrkbookError(f"checks failed: {', '.join(failed)}", "see their output above")
    print("\nall checks passed")
    return 0


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
        read_only={"/src": folder},
        writable={"/cache": cache},
        env=CACHE_ENV,
        workdir="/src",
        builds=True,
    )
    commands = {
        # gofmt exits with 0 whatever it finds: grep turns a list that is not empty into a failure.
        "gofmt": ["sh", "-c", "! gofmt -l . | grep ."],
        "go vet": ["go", "vet", "./..."],
        "go test": ["go", "test", "./..."],
    }
    return [
        name for name, command in commands.items() if not _passes(f"{folder.name}: {name}", sandbox.command(command))
    ]


def _passes(name: str, command: list[str]) -> bool:
    print(f"\n== {name}", flush=True)
    started = time.monotonic()
    passed = subprocess.run(command, cwd=PROJECT).returncode == 0
    print(f"== {name}: {'passed' if passed else 'FAILED'} in {format_duration(time.monotonic() - started)}", flush=True)
    return passed
