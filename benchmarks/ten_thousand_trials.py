"""Time the way from a ledger to tables, charts and HTML, for 1,000 to 10,000 trials.

Run it as ``.venv/bin/python benchmarks/ten_thousand_trials.py --trials 1024,10240 --folder SCRATCH``.

Each ledger repeats the blocks of the reference run of 02 under new numbers, with new seals. ``./wrkbook report`` runs three
times: from nothing, then again with the parsed tables that the first one kept, then where the report is up to date. Peak memory is
that of the largest process, the notebook's kernel.
The exponent is the slope of log(CPU time) over log(trials) from the smallest ledger to the largest: 1 is linear.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from runners.core.project import PROJECT, RAW
from runners.store.ledger import REFERENCE, Run

EXPERIMENT = "02-json-decode"
KINDS = {"cold": [], "again": ["--again"], "up to date": []}
"""What is timed, one after the other → the options of ``./wrkbook report``."""
_PR_SET_CHILD_SUBREAPER = 36


def main(
    folder: Annotated[Path, typer.Option(help="Where the ledgers and reports are made; emptied first.")],
    trials: Annotated[str, typer.Option(help="Numbers of trials, ascending.")] = "1024,10240",
) -> None:
    """Make the ledgers and print a table of times."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    counts = [int(count) for count in trials.split(",")]
    cold_s: list[float] = []
    print(f"{'trials':>8} {'report':>10} {'seconds':>8} {'CPU s':>8} {'peak MiB':>9}", flush=True)
    for count in counts:
        data = folder / str(count)
        shutil.rmtree(data, ignore_errors=True)
        made = repeat_reference(count, data / "raw")
        for kind, options in KINDS.items():
            seconds, cpu_s, peak_mib = timed_report(data, options)
            print(f"{made:>8} {kind:>10} {seconds:>8.1f} {cpu_s:>8.1f} {peak_mib:>9.0f}", flush=True)
            if kind == "cold":
                cold_s.append(cpu_s)
    if len(counts) > 1:
        exponent = math.log(cold_s[-1] / cold_s[0]) / math.log(counts[-1] / counts[0])
        print(f"exponent of the CPU time, cold: {exponent:.2f}")


def repeat_reference(count: int, base: Path) -> int:
    """Write a ledger of at least `count` trials, and return how many it has."""
    source = Run(EXPERIMENT, REFERENCE, RAW)
    blocks = [list(of_one) for _, of_one in itertools.groupby(source.trials(), key=lambda record: record.block)]
    run = Run(EXPERIMENT, "repeated", base)
    run.open(source.read())
    made = 0
    for number, block in enumerate(itertools.cycle(blocks), start=1):
        run.write_block(number, [record.model_copy(update={"block": number}) for record in block])
        made += len(block)
        if made >= count:
            return made
    return made


def timed_report(data: Path, options: list[str]) -> tuple[float, float, float]:
    """Return the seconds, the CPU seconds and the peak memory in MiB of ``./wrkbook report repeated``."""
    command = [sys.executable, "-m", "runners", "report", "repeated", *options]
    environment = os.environ | {"WRKBOOK_DATA": str(data), "PYTHONPATH": str(PROJECT)}
    started = time.monotonic()
    process = subprocess.Popen(command, env=environment, cwd=PROJECT, stdout=subprocess.DEVNULL)
    cpu_s, peak_kib, ended_s = 0.0, 0, 0.0
    # Of it and all below it: the processes that parse are left to this one, and not waited for by the report's.
    with suppress(ChildProcessError):
        while True:
            found, status, used = os.wait4(-1, 0)
            cpu_s += used.ru_utime + used.ru_stime
            peak_kib = max(peak_kib, used.ru_maxrss)
            if found == process.pid:
                ended_s = time.monotonic()
                process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise typer.Exit(process.returncode)
    return ended_s - started, cpu_s, peak_kib / 1024


if __name__ == "__main__":
    typer.run(main)
