"""What the commands print: coloured and broken on a terminal, plain lines elsewhere."""

import pytest
from rich.console import Console

from runners.cli.console import findings, hanging, plain, show, table, verified

DOCTOR = "✓ memory: 8 GiB available\n! turbo: on\n    → echo 1 | sudo tee /sys/there\n\nCPUs as planned: server 0"


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


def test_a_pipe_gets_each_row_in_one_line_without_colours(capsys):
    show(table(["name", "systems"], [["✓ ping", "x" * 300]]), *findings(DOCTOR))
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert f"✓ ping  {'x' * 300}\n" in out
    assert out.endswith(DOCTOR + "\n")


@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
def test_marks_are_coloured_on_a_terminal_unless_no_color_is_set(monkeypatch, capsys, no_color, coloured):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", no_color)
    show(*findings(DOCTOR))
    assert ("\x1b[32m✓" in capsys.readouterr().out) is coloured


def test_the_lines_of_a_finding_stand_under_its_words():
    target = Console(width=20)
    with target.capture() as captured:
        target.print(hanging("✓", "one two three four five six"))
    assert [line.rstrip() for line in captured.get().splitlines()] == ["✓ one two three four", "  five six"]


def test_a_server_that_differs_is_named_with_every_difference():
    assert plain(*verified("gin", [])) == "✓ gin: keeps the contract"
    assert plain(*verified("gin", ["/ping: 404"])) == "✗ gin: 1 difference from the contract\n    /ping: 404"
    assert "2 differences" in plain(*verified("gin", ["a", "b"]))


def test_names_and_numbers_are_not_broken_in_a_narrow_table():
    made = table(["name", "words", "n"], [["drogon-as-published", "many words that can be broken", "1234"]], right=(2,))
    target = Console(width=40)
    with target.capture() as captured:
        target.print(made)
    assert "drogon-as-published" in captured.get()
    assert "1234" in captured.get()
