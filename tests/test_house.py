"""The rules of the house: who may import whom, and what never stands in the sources."""

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from runners.cli.checks import GO_CHECKS, LOCK, _static_checks, requirements
from runners.core.project import PROJECT
from runners.systems.catalogue import Catalogue

MODULES = sorted((PROJECT / "runners").rglob("*.py"))
# Rooms from the bottom up. A module imports from its own room and from lower ones; rooms of one floor import nothing from each other.
FLOORS = [
    {"core"},
    {"stats"},
    {"machine", "systems", "generators", "contract"},
    {"store"},
    {"analyse"},
    {"measure"},
    {"hosts", "present"},
    {"experiments"},
    {"workbook"},
    {"cli"},
    {"__main__"},
]
LONGEST_MODULE_LINES = 250
BELOW_MEASURE = set().union(*FLOORS[:5])
# Where JSON enters or leaves: only these modules of the rooms below `measure` hold objects of any content. Elsewhere records are types.
JSON_BOUNDARY = {
    "runners.core.parameters": "values of a notebook's cells before they are checked",
    "runners.core.project": "the parameter cell of a notebook",
    "runners.core.summaries": "parts of summary.json that are shown and compared",
    "runners.core.run_manifest": "facts that are shown and compared, and never computed with",
    "runners.generators.autocannon": "the result that the tool prints",
    "runners.generators.wrk_exact": "the statistics that the script of the tool prints",
    "runners.machine.facts": "facts of the machine for the manifest",
    "runners.store.ledger": "reads and writes records",
    "runners.store.migrations": "content of older schemas",
    "runners.analyse.standings": "reads summary.json",
    "runners.analyse.summary": "writes summary.json",
}
STATISTICS = {"numpy", "pandas", "scipy", "statsmodels", "runners"}
NAMES = {".".join(path.relative_to(PROJECT).with_suffix("").parts).removesuffix(".__init__"): path for path in MODULES}


def imported_modules(module: Path) -> set[str]:
    """Names of the modules that a module imports, for types alone or in functions included."""
    found = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in NAMES else node.module for name in whole}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


IMPORTS = {name: (imported_modules(path) & set(NAMES)) - {name, "runners"} for name, path in NAMES.items()}


def room(name: str) -> str:
    return name.split(".")[1]


def floor(name: str) -> int:
    return next(number for number, rooms in enumerate(FLOORS) if room(name) in rooms)


def circles(imports: dict[str, set[str]]) -> list[list[str]]:
    """Each group of modules that import one another, directly or through others."""

    def reached(start: str) -> set[str]:
        found, waiting = set(), [start]
        while waiting:
            for name in imports[waiting.pop()] - found:
                found.add(name)
                waiting.append(name)
        return found

    behind = {name: reached(name) for name in imports}
    groups = {frozenset(other for other in behind[name] if name in behind[other]) for name in imports}
    return sorted(sorted(group) for group in groups if group)


def test_a_circle_of_imports_is_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]


def test_no_module_imports_itself_through_others():
    assert circles(IMPORTS) == []


def test_imports_go_downwards_only():
    pairs = [(name, other) for name in set(NAMES) - {"runners"} for other in IMPORTS[name] if room(other) != room(name)]
    assert [f"{name} must not import {other}" for name, other in pairs if floor(other) >= floor(name)] == []


def test_statistics_know_no_file_and_no_system():
    for name in (name for name in NAMES if name.startswith("runners.stats")):
        top = {other.split(".")[0] for other in imported_modules(NAMES[name])}
        assert top - set(sys.stdlib_module_names) <= STATISTICS, name
        assert not top & {"pathlib", "os", "subprocess"}, name


def test_objects_of_any_content_stay_where_json_enters_or_leaves():
    below = [name for name in NAMES if name != "runners" and room(name) in BELOW_MEASURE]
    holding = {name for name in below if re.search(r"\b(?:dict|Mapping)\[str, Any\]", NAMES[name].read_text())}
    assert holding <= JSON_BOUNDARY.keys(), "give the record a type"


def missing_references(text: str) -> list[str]:
    """Return the references of docstrings to modules of the project, or to names in them, that are not there."""
    missing = []
    for reference in re.findall(r":(?:class|func|meth|mod):`~?(runners[\w.]+)`", text):
        module = next(
            (name for name in sorted(NAMES, key=len, reverse=True) if f"{reference}.".startswith(f"{name}.")), ""
        )
        name = reference.removeprefix(module).strip(".").split(".")[0]
        if not module or (
            name and not re.search(rf"^ *(class|def) {name}\b|^{name}\b.*=", NAMES[module].read_text(), re.MULTILINE)
        ):
            missing.append(reference)
    return missing


def test_no_reference_of_a_docstring_is_dead():
    missing = {str(module): missing_references(module.read_text()) for module in MODULES}
    assert {module: names for module, names in missing.items() if names} == {}


def test_a_dead_reference_is_found():
    text = ":class:`runners.core.load.Load`, :func:`runners.core.load.gone`, :mod:`runners.core.gone`, :mod:`runners.core.load`"
    assert missing_references(text) == ["runners.core.load.gone", "runners.core.gone"]


def types_of(source: str) -> list[str]:
    """Return the names of the classes and type aliases of a module; variables of types are no types."""
    found = []
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            found.append(node.name)
        elif (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Subscript | ast.BinOp)
            and isinstance(node.targets[0], ast.Name)
        ):
            name = node.targets[0].id
            found += [name] if re.match(r"_?[A-Z]\w*[a-z]", name) else []
    return found


def test_each_type_has_a_name_of_its_own():
    named = Counter(name for path in MODULES for name in types_of(path.read_text()))
    assert [name for name, count in named.items() if count > 1] == []


def test_classes_and_type_aliases_are_found():
    source = 'class Cell: ...\nVerdict = Literal["a"]\nRow = str | None\nLEAST = VALUES[0]\nModel = TypeVar("Model")\n'
    assert types_of(source) == ["Cell", "Verdict", "Row"]


def test_no_module_stands_outside_a_room():
    assert {path.name for path in (PROJECT / "runners").glob("*.py")} == {"__init__.py", "__main__.py"}


def test_a_module_is_short_enough_to_read():
    lines = {str(module.relative_to(PROJECT)): len(module.read_text().splitlines()) for module in MODULES}
    assert {name: count for name, count in lines.items() if count > LONGEST_MODULE_LINES} == {}


def test_nothing_in_runners_knows_a_system_by_name():
    names = {*Catalogue().servers, *(codec for server in Catalogue().servers.values() for codec in server.codecs)}
    for module in MODULES:
        for node in ast.walk(ast.parse(module.read_text())):
            if isinstance(node, ast.Compare | ast.match_case):
                constants = {part.value for part in ast.walk(node) if isinstance(part, ast.Constant)}
                assert not constants & names, f"{module} branches on {constants & names}"


def test_nothing_large_or_compiled_is_kept():
    """A megabyte for a file, twenty for all data, and no binary but what a reader sees."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=PROJECT, capture_output=True, check=True).stdout.decode()
    files = [PROJECT / name for name in names.split("\0") if name and (PROJECT / name).is_file()]
    assert [file for file in files if "data" not in file.parts and file.stat().st_size > 1e6] == []
    assert sum(file.stat().st_size for file in files if "data" in file.parts) <= 20e6
    for file in files:
        assert file.suffix in {".png", ".xz", ".parquet"} or b"\0" not in file.read_bytes(), file


def test_no_path_of_the_machine_that_made_it_is_in_the_reference_run():
    for file in [
        *(PROJECT / "data").glob("*/*/reference*/**/*.json"),
        *(PROJECT / "data").glob("*/*/reference*/*.html"),
    ]:
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
            declares = "parameters" in cell.metadata.get("tags", [])
            assert len(cell.source.splitlines()) <= (19 if declares else 13)
            assert "def " not in cell.source
    assert sum("parameters" in cell.metadata.get("tags", []) for cell in notebook.cells) == 1


def test_a_commit_is_checked_as_ci_checks_it():
    hooks = yaml.safe_load((PROJECT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    named = ", ".join(hook["name"] for hook in hooks)
    for check in (*_static_checks(), *GO_CHECKS):
        assert check in named
