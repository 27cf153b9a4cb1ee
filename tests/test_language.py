"""The language of the project: one term for each thing, short sentences, plain first lines of docstrings."""

import ast
import re
import statistics
import tokenize
from pathlib import Path

import nbformat
import pytest

from runners.core.project import PROJECT

DOCUMENTS = ["README.md", "CONTRIBUTING.md", "docs/method.md", "docs/reports.md", "docs/validity.md"]
GUIDES = {"README.md": 150, "CONTRIBUTING.md": 150, "docs/method.md": 200, "docs/reports.md": 60}
CONTRACT = "servers/contract/README.md"
NOTEBOOKS = sorted((PROJECT / "notebooks").glob("*.ipynb"))
MODULES = sorted((PROJECT / "runners").rglob("*.py"))
MOST_WORDS, MEAN_WORDS = 30, 20

# Old word (a pattern) → the term. In documents; text in backticks is a name and not checked.
TERMS = {
    r"answer(s|ed|ing)": "response, respond",
    r"ask(s|ed|ing)?": "request, send, query",
    r"examinations?": "vector runner",
    r"oracles?": "reference decoder",
    r"renewals?": "freshness",
    r"turns?": "time slices",
    r"strains?": "pressure",
    r"looks|looked": "samples, inspects",
    r"strays?": "unpinned threads",
    r"ours": "measured",
    r"companions?": "co-scheduled",
    r"fitted": "clamped",
    r"spoilt|disturbed": "invalidated",
    r"placebos?": "control",
    r"heaps": "modes",
    r"on trial": "claim review",
    r"forgiven|neighbours?": "interference: no personification",
}
# Names that the glossary replaces. No module holds those that are not among STILL_THERE.
NAMES = {
    "NoAnswerError": "NoResponseError",
    "examination": "vector runner",
    "oracle": "reference decoder",
    "renewal": "freshness",
    "relaying": "proxy check",
    "StoppedClock": "virtual clock",
    "Freezer": "process suspender",
    "opening": "ramp-up",
    "strain": "pressure",
    "strays": "unpinned threads",
    "companions": "co-scheduled",
    "asked_rps": "requested_rps",
    "rated": "fixed_rate",
    "LoadShape": "LoadProfile",
    "Asked": "LoadTarget",
    "LoadSource": "LoadContext",
    "fitted": "clamped",
    "spoilt": "invalidated",
    "disturbed": "invalidated",
    "placebo": "control",
    "heaps": "modes",
    "presence": "CPU availability",
    "Recorded": "RunRecord",
    "agreement": "generator agreement",
    "ours": "measured",
    "on_trial": "claim review",
    "planning": "plan table",
    "run_record": "manifest",
    "OnTrial": "ClaimReview",
    "answers": "response",
    "ask(s|ed|ing)?": "request, send",
    "asked_connections_count": "requested_connections_count",
    "turns_count": "time_slices_count",
    "windows_in_turns": "windows_in_time_slices",
    "strays_count": "unpinned_threads_count",
    "LOOKS": "SAMPLED_AT",
    "STOPPED_CLOCK": "VIRTUAL_CLOCK",
    "is_rated": "is_fixed_rate",
    "Examination": "Diagnosis",
    "Evidence": "SelectedRun",
    "measure_faults": "measure_flaws",
}
STILL_THERE: set[str] = set()
# Rooms in which each docstring of a function begins with one of these verbs. The others follow.
PLAIN_ROOMS = {"core", "machine", "stats", "store"}
TEXTS = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
NOT_YET_PLAIN = {"workloads.py"}
VERBS = {
    "Add", "Begin", "Check", "Compare", "Convert", "Count", "Cut", "End", "Estimate", "Find", "Format", "Hold", "Join", "Launch", "List",
    "Make", "Mark", "Merge", "Migrate", "Open", "Parse", "Plan", "Print", "Raise", "Read", "Refuse", "Remove", "Replace", "Return", "Run",
    "Say", "Start", "Store", "Suspend", "Undo", "Validate", "Wait", "Write", "Yield",
}  # fmt: skip


def prose(name: str) -> str:
    """Return a document without code, comments, and the rows that quote headlines of reports."""
    text = (PROJECT / name).read_text(encoding="utf-8")
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    return re.sub(r"^\| \[`.*/reference/report\.html\).*$", "", text, flags=re.MULTILINE)


def without_names(text: str) -> str:
    """Return text without what stands in backticks and without the targets of links."""
    return re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "NAME", text))


def sentences(text: str) -> list[str]:
    """Return the sentences of Markdown: headings, items and cells of tables each end one."""
    lines = [line.strip() for line in text.splitlines()]
    blocks, current = [], []
    for line in [*lines, ""]:
        if not line or re.match(r"[-*] |#|\||\d+\. ", line):
            blocks.append(" ".join(current))
            current = []
        if line.startswith("|"):
            blocks += line.strip("| ").split(" | ")
        elif line:
            current.append(re.sub(r"^([-*]|#+|\d+\.) ", "", line))
    parts = [part for block in blocks for part in re.split(r"(?<=[.!?])[*)]* +(?=[^a-z0-9(])", block)]
    return [part for part in parts if re.search(r"[A-Za-z]", part)]


def words(sentence: str) -> int:
    """Return the number of words; a name in backticks is one, signs are none."""
    return len(re.findall(r"[\w./'’%±-]*\w[\w./'’%±-]*", without_names(sentence)))


def old_words(text: str) -> list[str]:
    """Return what in a text the glossary replaces, as ``old → new``."""
    plain = without_names(text)
    found = [
        (match[0], new) for old, new in TERMS.items() for match in re.finditer(rf"\b({old})\b", plain, re.IGNORECASE)
    ]
    return [f"{old} → {new}" for old, new in found]


def test_sentences_are_told_apart():
    text = "# A heading\n\nOne is here. Two\n*goes* on (as `a.b c` does). *Three.*\n\n- an item\n- another\n\n| a cell | b. C |\n"
    assert sentences(text) == [
        "A heading", "One is here.", "Two *goes* on (as `a.b c` does).", "*Three.*", "an item", "another", "a cell", "b.", "C",
    ]  # fmt: skip
    assert words("Two goes on (as `a.b c` does), ±2 %.") == 7


def test_an_old_word_is_found_and_a_name_is_not():
    assert old_words("The server Answers.") == ["Answers → response, respond"]
    assert old_words("`answer` in `placebo`, [a page](docs/answer.md), and returned") == []


@pytest.mark.parametrize("name", [*DOCUMENTS, CONTRACT])
def test_documents_use_the_terms_of_the_glossary(name):
    assert old_words(prose(name)) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_use_the_terms_of_the_glossary(path):
    cells = nbformat.read(path, as_version=4).cells
    assert [found for cell in cells if cell.cell_type == "markdown" for found in old_words(cell.source)] == []


@pytest.mark.parametrize("name", [*DOCUMENTS, CONTRACT])
def test_sentences_are_short(name):
    text = prose(name)
    assert {sentence: words(sentence) for sentence in sentences(text) if words(sentence) > MOST_WORDS} == {}
    running = re.sub(r"^[|#].*$", "", text, flags=re.MULTILINE)
    assert statistics.fmean(map(words, sentences(running))) <= MEAN_WORDS


@pytest.mark.parametrize("name", GUIDES)
def test_a_document_is_short(name):
    assert len((PROJECT / name).read_text().splitlines()) <= GUIDES[name]


@pytest.mark.parametrize("name", [*DOCUMENTS, CONTRACT, "CHANGELOG.md"])
def test_no_link_or_path_of_a_document_is_dead(name):
    page = PROJECT / name
    for link in re.findall(r"\]\(([^)#]+)", page.read_text()):
        assert "://" in link or (page.parent / link).exists(), link
    for path in re.findall(r"`((?:benchmarks|docs|runners|tests|servers|notebooks)/[\w/.-]+)`", page.read_text()):
        # Capitals stand for what the reader makes.
        assert (PROJECT / path).exists() or re.search(r"N(N-name|AME)", path), path


def test_an_entry_of_the_changelog_is_one_line():
    lines = [line for line in (PROJECT / "CHANGELOG.md").read_text().splitlines() if line and not line.startswith("#")]
    assert [line for line in lines if not line.startswith("- ")] == []


@pytest.mark.parametrize("name", sorted(NAMES))
def test_names_that_the_glossary_replaces_are_gone(name):
    # Recorded data keep their old names: only the migrations know them.
    modules = [path for path in MODULES if path.name != "migrations.py"]
    holding = [path for path in modules if re.search(rf"\b{name}\b", path.read_text(encoding="utf-8"))]
    if name in STILL_THERE:
        assert holding, f"{name} is gone: take it out of STILL_THERE"
    else:
        assert holding == [], f"{name} is called {NAMES[name]}"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_code_of_notebooks_has_no_name_that_the_glossary_replaces(path):
    code = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code")
    assert [name for name in NAMES if re.search(rf"\b{name}\b", code)] == []


def docstrings(path: Path) -> dict[str, str]:
    """Return the first line of the docstring of each function and property of a module."""
    functions = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]
    found = {f"{path.stem}.{node.name}": ast.get_docstring(node) for node in functions}
    return {name: text.splitlines()[0] for name, text in found.items() if text}


PLAIN = [path for path in MODULES if path.parent.name in PLAIN_ROOMS and path.name not in NOT_YET_PLAIN]


@pytest.mark.parametrize("path", PLAIN, ids=lambda path: path.stem)
def test_a_docstring_begins_with_what_the_function_does(path):
    assert {name: line for name, line in docstrings(path).items() if line.split()[0] not in VERBS} == {}


@pytest.mark.parametrize("path", PLAIN, ids=lambda path: path.stem)
def test_comments_docstrings_and_messages_use_the_terms_of_the_glossary(path):
    with tokenize.open(path) as file:
        texts = [token.string for token in tokenize.generate_tokens(file.readline) if token.type in TEXTS]
    # A string without a space is a name.
    assert [found for text in texts if " " in text.strip() for found in old_words(text.replace("``", "`"))] == []


def test_a_docstring_that_begins_otherwise_is_found(tmp_path):
    module = tmp_path / "module.py"
    module.write_text('def size():\n    """Whether it is large."""\n')
    assert docstrings(module) == {"module.size": "Whether it is large."}
    assert "Whether" not in VERBS
