"""The language of the project: one term for each thing, short sentences, plain first lines of docstrings."""

import ast
import re
import statistics
import tokenize
from functools import cache
from pathlib import Path

import nbformat
import pytest

from runners.core.project import PROJECT

DOCUMENTS = ["README.md", "CONTRIBUTING.md", *(f"docs/{path.name}" for path in sorted((PROJECT / "docs").glob("*.md")))]
GUIDES = {"README.md": 150, "CONTRIBUTING.md": 150, "docs/method.md": 220, "docs/reports.md": 70}
CONTRACT = "servers/contract/README.md"
NOTEBOOKS = sorted((PROJECT / "notebooks").glob("*.ipynb"))
MODULES = sorted((PROJECT / "runners").rglob("*.py"))
# Recorded data keep their old names, and this file holds them all.
OLD_NAMES_INSIDE = {"test_language.py", "test_migrations.py"}
TESTS = [path for path in sorted((PROJECT / "tests").rglob("*.py")) if path.name not in OLD_NAMES_INSIDE]
SCRIPTS = [path for folder in ("benchmarks", "docs") for path in sorted((PROJECT / folder).glob("*.py"))]
SOURCES = {
    ".cc", ".cfg", ".conf", ".cpp", ".css", ".go", ".h", ".hpp", ".in", ".j2", ".java", ".js", ".lua", ".rs", ".sh", ".sql", ".toml",
}  # fmt: skip
BUILT = {"node_modules", "target"}
OTHER_SOURCES = [path for path in sorted((PROJECT / "runners").rglob("*")) if path.suffix in SOURCES]
SERVERS = [
    path
    for path in sorted((PROJECT / "servers").rglob("*"))
    if path.suffix in {*SOURCES, ".py"} and not BUILT & {*path.parts}
]
MOST_WORDS, MEAN_WORDS = 30, 20

# Old word (a pattern) → the term. In documents; text in backticks is a name and not checked.
TERMS = {
    r"answer(s|ed|ing)": "response, respond; the answer is that of a report",
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
# Names that the glossary replaces: no module holds one.
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
# Rooms in which each docstring of a function begins with one of these verbs.
PLAIN_ROOMS = {"core", "machine", "stats", "store", "systems", "generators", "contract", "analyse"}
TEXTS = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
VERBS = {
    "Accept", "Add", "Analyse", "Begin", "Build", "Check", "Close", "Compare", "Convert", "Count", "Cut", "Decode", "Delete", "End",
    "Ensure", "Enter", "Estimate", "Find", "Format", "Hold", "Install", "Join", "Judge", "Kill", "Launch", "Leave", "List", "Make", "Mark",
    "Merge", "Migrate", "Open", "Parse", "Plan", "Print", "Raise", "Read", "Receive", "Refuse", "Remove", "Replace", "Reset", "Return",
    "Run", "Say", "Send", "Start", "Store", "Suspend", "Test", "Try", "Undo", "Validate", "Wait", "Write", "Yield",
}  # fmt: skip
# In all rooms: openings of docstrings that are relative clauses, which must be read twice.
RELATIVE_CLAUSES = {"How", "What", "Where", "Whether", "Which", "Who", "Whose"}
# Types of numpydoc that are no Python expressions.
TYPES_IN_WORDS = {"array_like", "iterable of (float, bool)"}


def prose(name: str) -> str:
    """Return a document without code, comments, and the part that quotes a report."""
    text = (PROJECT / name).read_text(encoding="utf-8")
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    text = re.sub(r"<!-- docs/make_readme.py.*?<!-- to here -->", "", text, flags=re.DOTALL)
    return re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)


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
    return terms_to_replace(without_names(text), TERMS)


def terms_to_replace(plain: str, terms: dict[str, str]) -> list[str]:
    """Return the occurrences of old terms in a text without backticks, as ``old → new``."""
    found = [
        (match[0], new) for old, new in terms.items() for match in re.finditer(rf"\b({old})\b", plain, re.IGNORECASE)
    ]
    return [f"{old} → {new}" for old, new in found]


def test_sentences_are_told_apart():
    text = "# A heading\n\nOne is here. Two\n*goes* on (as `a.b c` does). *Three.*\n\n- an item\n- another\n\n| a cell | b. C |\n"
    assert sentences(text) == [
        "A heading", "One is here.", "Two *goes* on (as `a.b c` does).", "*Three.*", "an item", "another", "a cell", "b.", "C",
    ]  # fmt: skip
    assert words("Two goes on (as `a.b c` does), ±2 %.") == 7


def test_an_old_word_is_found_and_a_name_is_not():
    assert old_words("The server Answers.") == ["Answers → response, respond; the answer is that of a report"]
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


def test_names_that_the_glossary_replaces_are_gone():
    # Recorded data keep their old names: only the migrations know them.
    known = {str(path): path.read_text(encoding="utf-8") for path in MODULES if path.name != "migrations.py"}
    old = [
        (path, name, new)
        for path, text in known.items()
        for name, new in NAMES.items()
        if re.search(rf"\b{name}\b", text)
    ]
    assert old == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_code_of_notebooks_has_no_name_that_the_glossary_replaces(path):
    code = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code")
    assert [name for name in NAMES if re.search(rf"\b{name}\b", code)] == []


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    """Return the nodes of a module that have docstrings."""
    documented = (ast.FunctionDef, ast.ClassDef, ast.Module)
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, documented)]


def docstrings(path: Path, *kinds: type[ast.AST]) -> dict[str, str]:
    """Return the docstring of each function and property of a module, or of each node of other kinds."""
    nodes = [node for node in nodes_of(path) if isinstance(node, kinds or ast.FunctionDef)]
    found = {f"{path.stem}.{getattr(node, 'name', '')}": ast.get_docstring(node) for node in nodes}
    return {name: text for name, text in found.items() if text}


def prose_for_types(docstring: str) -> list[str]:
    """Return what stands in the place of a type in the sections Parameters and Attributes."""
    sections = re.findall(
        r"^(?:Parameters|Attributes)\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", docstring, re.DOTALL | re.MULTILINE
    )
    entries = [
        line for section in sections for line in section.splitlines() if re.match(r"[*\w]+(, \w+)*( : |$)", line)
    ]
    return [line for line in entries if not is_type(line.partition(" : ")[2])]


def is_type(text: str) -> bool:
    """Return whether a text is a type: a Python expression without calls and sentences."""
    try:
        return bool(ast.parse(text, mode="eval")) if text not in TYPES_IN_WORDS else True
    except SyntaxError:
        return False


PLAIN = [path for path in MODULES if PLAIN_ROOMS & set(path.relative_to(PROJECT).parts)]


def test_a_docstring_begins_with_what_the_function_does():
    found = [(str(path), name, text) for path in PLAIN for name, text in docstrings(path).items()]
    assert [each for each in found if each[2].split()[0] not in VERBS] == []


def test_no_docstring_begins_with_a_relative_clause():
    kinds = (ast.FunctionDef, ast.ClassDef, ast.Module)
    found = [(str(path), name, text) for path in MODULES for name, text in docstrings(path, *kinds).items()]
    assert [each for each in found if each[2].split()[0] in RELATIVE_CLAUSES] == []


def test_types_stand_in_the_place_of_types():
    found = [(str(path), text) for path in MODULES for text in docstrings(path, ast.FunctionDef, ast.ClassDef).values()]
    assert [(path, wrong) for path, text in found if (wrong := prose_for_types(text))] == []


def test_prose_in_the_place_of_a_type_is_found():
    docstring = (
        "Return it.\n\nParameters\n----------\nload : of the window\n    The load.\nsize, count : int | None\nname\n"
    )
    assert prose_for_types(docstring) == ["load : of the window", "name"]


def texts(path: Path) -> list[str]:
    """Return the comments, docstrings and other strings of a module; a string without a space is a name."""
    with tokenize.open(path) as file:
        found = [token.string for token in tokenize.generate_tokens(file.readline) if token.type in TEXTS]
    return [text.replace("``", "`") for text in found if " " in text.strip()]


def test_comments_docstrings_and_messages_use_the_terms_of_the_glossary():
    found = {str(path): [old for text in texts(path) for old in old_words(text)] for path in MODULES + TESTS + SCRIPTS}
    assert {path: words for path, words in found.items() if words} == {}


def old_words_of_source(source: str, *more: str) -> list[str]:
    """Return what the glossary replaces, and `more` words, in comments and in the words of names."""
    words_of_names = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", source)
    return terms_to_replace(words_of_names, TERMS | dict.fromkeys(more, "response"))


def test_sources_in_other_languages_use_the_terms_of_the_glossary():
    # A report has an answer; a server sends a response.
    found = {path: old_words_of_source(path.read_text(encoding="utf-8")) for path in OTHER_SOURCES}
    found |= {path: old_words_of_source(path.read_text(encoding="utf-8"), "answer") for path in SERVERS}
    assert {str(path): old for path, old in found.items() if old} == {}
    assert len(found) > 150


def test_an_old_word_in_a_name_of_a_source_is_found():
    source = "func sendAnswer() {}  // unanswered; task\nvoid ask_database();"
    assert [old.partition(" ")[0] for old in old_words_of_source(source, "answer")] == ["ask", "Answer"]


def test_names_of_tests_use_the_terms_of_the_glossary():
    names = [node.name for path in TESTS for node in nodes_of(path) if isinstance(node, ast.FunctionDef)]
    assert {name: old for name in names if (old := old_words(name.replace("_", " ")))} == {}


def test_a_docstring_that_begins_otherwise_is_found(tmp_path):
    module = tmp_path / "module.py"
    module.write_text('def size():\n    """Whether it is large."""\n')
    assert docstrings(module) == {"module.size": "Whether it is large."}
    assert "Whether" in RELATIVE_CLAUSES - VERBS
