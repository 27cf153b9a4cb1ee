"""From ``environment.yml`` to ``requirements.lock``: one list of dependencies for conda and for pip.

The lines of ``environment.yml`` are written so that conda and pip read them alike (``name >=1,<2``).
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import yaml

from runners.core.folders import PROJECT

ENVIRONMENT = PROJECT / "environment.yml"
LOCK = PROJECT / "requirements.lock"
_CONDA_ONLY = ("python", "pip")


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
