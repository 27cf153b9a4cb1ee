"""The command of docs/changes.md for ``git bisect run``, tried on a planted regression; what is measured is simulated."""

import os
import re
import subprocess
import sys

from runners.core.project import PROJECT
from tests.systems.test_revisions import git, project  # noqa: F401  (a fixture)

COMMITS, CULPRIT, UNDECIDED = 8, 5, 6
WRKBOOK = """\
import sys
from pathlib import Path

from runners.analyse.revision_changes import Change
from runners.cli import commands, comparing
from runners.core.records import Interval
from runners.systems import revisions

RATIOS = {"fast": Interval(1.0, 0.999, 1.001), "slow": Interval(0.9, 0.89, 0.91), "noisy": Interval(0.9, 0.7, 1.1)}


def measured(*_, **__):
    ratio = RATIOS[Path("servers/toy/main.c").read_text().split()[0]]
    return [Change("gin+sonic", "decode-10", ratio, RATIOS["fast"], 1.0, 8, is_bound=False)]


revisions.REPOSITORY, comparing.measured = Path.cwd(), measured
commands.main()
"""


def test_bisect_finds_the_commit_that_made_a_server_slower(project, tmp_path):  # noqa: F811
    git(project, "tag", "v1.0")
    commits = {}
    for number in range(1, COMMITS + 1):
        state = "noisy" if number == UNDECIDED else "fast" if number < CULPRIT else "slow"
        (project / "servers/toy/main.c").write_text(f"{state} {number}")
        git(project, "commit", "-qam", f"commit {number}")
        commits[number] = git(project, "rev-parse", "HEAD")
    program = tmp_path / "wrkbook.py"
    program.write_text(WRKBOOK)
    page = (PROJECT / "docs" / "changes.md").read_text(encoding="utf-8")
    start, run = re.findall(r"^git bisect .*$", page, re.MULTILINE)
    words = f"{start} && {run.replace('./wrkbook', f'{sys.executable} {program}')}"
    done = subprocess.run(
        ["sh", "-c", words],
        cwd=project,
        env=os.environ | {"PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"{commits[CULPRIT]} is the first bad commit" in done.stdout, done.stdout + done.stderr
