"""The rules of the house: who may import whom, and what never stands in the sources."""

import ast
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from runners.environment import LOCK, requirements
from runners.folders import PROJECT
from runners.quality import GO_CHECKS, _static_checks
from runners.systems.catalogue import Catalogue

MODULES = sorted((PROJECT / "runners").rglob("*.py"))
# From the ground up; a module imports what stands lower, never what stands higher or, for rooms, beside it.
FLOORS = [
    {"units", "errors", "folders", "__init__"},
    {"records"},
    {"histograms", "ledger", "parameters", "environment", "summaries"},
    {"machine", "systems", "generators", "contract"},
    {"analyse"},
    {"measure"},
    {"present"},
    {"processed", "execute", "reports", "arguments"},
    {
        "experiment",
        "evidence",
        "on_trial",
        "comparison",
        "running",
        "quality",
        "doctor",
        "lab",
        "listing",
        "machine_record",
        "run_record",
        "planning",
        "build_record",
    },
    {"commands", "__main__"},
]
# Rooms of one floor that must not know one another; other modules of one floor may.
APART = {"machine", "systems", "generators"}


def room(module: Path) -> str:
    return module.relative_to(PROJECT / "runners").parts[0].removesuffix(".py")


def imported_rooms(module: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(module.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = (
                [f"{node.module}.{alias.name}" for alias in node.names] if node.module == "runners" else [node.module]
            )
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("runners.")}
    return found - {"__version__"}


def floor(name: str) -> int:
    return next(number for number, names in enumerate(FLOORS) if name in names)


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PROJECT)))
def test_imports_go_downwards_only(module):
    own = room(module)
    for other in imported_rooms(module) - {own}:
        assert floor(other) <= floor(own), f"{own} must not import {other}"
        assert not ({own, other} <= APART), f"{own} and {other} must not know one another"


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PROJECT)))
def test_a_module_is_short_enough_to_read(module):
    assert len(module.read_text().splitlines()) <= 270


def test_nothing_in_runners_knows_a_system_by_name():
    names = {*Catalogue().servers, *(codec for server in Catalogue().servers.values() for codec in server.codecs)}
    for module in MODULES:
        for node in ast.walk(ast.parse(module.read_text())):
            if isinstance(node, ast.Compare | ast.match_case):
                constants = {part.value for part in ast.walk(node) if isinstance(part, ast.Constant)}
                assert not constants & names, f"{module} branches on {constants & names}"


def test_nothing_large_or_compiled_is_kept():
    """A megabyte for a file, ten for the reference run, and no binary but what a reader looks at."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=PROJECT, capture_output=True, check=True).stdout.decode()
    files = [PROJECT / name for name in names.split("\0") if name and (PROJECT / name).is_file()]
    assert [file for file in files if "data" not in file.parts and file.stat().st_size > 1e6] == []
    assert sum(file.stat().st_size for file in files if "reference" in file.parts) <= 10e6
    for file in files:
        assert file.suffix in {".png", ".xz", ".parquet"} or b"\0" not in file.read_bytes(), file


def test_no_path_of_the_machine_that_made_it_is_in_the_reference_run():
    for file in [*(PROJECT / "data").glob("*/*/reference/**/*.json"), *(PROJECT / "data").glob("*/*/reference/*.html")]:
        assert not re.search(r"/(root|home|work|Users)/", file.read_text()), file


def test_no_command_goes_through_a_shell():
    for module in MODULES:
        text = module.read_text()
        assert not re.search(r"shell\s*=\s*True|os\.system\(|os\.popen\(", text), module


def test_the_lock_satisfies_the_environment_for_every_dependency():
    locked = dict(re.findall(r"^([A-Za-z0-9_.-]+)==([^ \\;]+)", LOCK.read_text(), re.MULTILINE))
    for line in requirements():
        wanted = Requirement(line)
        assert wanted.name in locked, f"{wanted.name}: run ./wrkbook lock"
        assert wanted.specifier.contains(locked[wanted.name]), f"{wanted.name}: run ./wrkbook lock"


def test_the_environment_is_one_that_conda_can_read():
    environment = yaml.safe_load((PROJECT / "environment.yml").read_text())
    assert environment["name"] == "wrkbook"
    assert environment["channels"]
    for entry in environment["dependencies"]:
        assert isinstance(entry, str) or list(entry) == ["pip"]


def test_source_notebooks_carry_no_outputs():
    for path in (PROJECT / "notebooks").glob("*.ipynb"):
        assert not re.search(r'"output_type"|"execution_count": [0-9]', path.read_text()), path


@pytest.mark.parametrize("path", sorted((PROJECT / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_is_thin(path):
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    assert len(notebook.cells) <= 36
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert len(cell.source.splitlines()) <= 13
            assert "def " not in cell.source
    assert sum("parameters" in cell.metadata.get("tags", []) for cell in notebook.cells) == 1


def test_a_commit_is_checked_as_ci_checks_it():
    hooks = yaml.safe_load((PROJECT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    named = ", ".join(hook["name"] for hook in hooks)
    for check in (*_static_checks(), *GO_CHECKS):
        assert check in named
