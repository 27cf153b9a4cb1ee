"""Count the instructions of one request of C++ servers with callgrind: for before and after on one server, nearly without noise.

``.venv/bin/python benchmarks/instructions.py drogon+simdjson drogon+glaze --workload decode-10 --requests 1000``

Valgrind runs in an image of its own, which is made on first use. Each row is launched with one thread and gets a fixed number of
requests on one connection, then twice as many in another launch. The difference is free of start-up and warm-up.
Everything is done twice, and the table shows how far the two results differ.

Valgrind knows no AVX-512, so ``-march=native`` becomes ``-march=haswell`` in a copy of the sources. The kernel's work is not counted.
Go, JavaScript and Java are refused: callgrind cannot follow their stacks and generated code. For Go there are the benchmarks of the
codecs: ``go test -bench Codec -benchmem`` in ``servers/shared/batch``.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from runners.contract.connection import Connection
from runners.contract.findings import Message
from runners.contract.runner import contract_request
from runners.core.errors import WrkbookError
from runners.core.records import System, Workload
from runners.core.workloads import WORKLOADS
from runners.measure.conformance import build_all
from runners.systems.build import Artifact
from runners.systems.catalogue import Catalogue
from runners.systems.image import Image
from runners.systems.manifest_tables import PROFILE
from runners.systems.process import ServerProcess
from runners.systems.sandbox import Sandbox
from runners.systems.server_manifest import Server
from runners.systems.sockets import hold_ports

PACKAGES = ("valgrind", "libc6-dbg")
COUNTS = f"{PROFILE}/callgrind.out"
PORTABLE = "-march=haswell"
NOTE = "Instructions in user space. Compare a row with itself before and after a change; never compare languages or machines."

Functions = Counter[str]


class CountedProcess(ServerProcess):
    """A server under callgrind, which is slower by a factor of about 50."""

    ready_timeout_s = 120.0


def main(
    systems: Annotated[list[str], typer.Argument(help="Rows, such as drogon+simdjson.")],
    workload: Annotated[str, typer.Option(help="A workload and its number of operations.")] = "decode-10",
    requests: Annotated[int, typer.Option(min=1, help="Requests of the shorter launch.")] = 1000,
    functions: Annotated[int, typer.Option(min=0, help="Functions to list for each row.")] = 8,
) -> None:
    """Print the instructions of one request for each row, and the functions that most of them are in."""
    try:
        wanted, catalogue = workload_of(workload), Catalogue()
        rows = [catalogue.system(name, [wanted.name]) for name in systems]
        servers = {row.build: catalogue.server(row.build) for row in rows}
        refuse_others(servers.values(), wanted)
        with tempfile.TemporaryDirectory(prefix="wrkbook-instructions-") as scratch:
            image = Image.of([*PACKAGES, *(package for server in servers.values() for package in server.packages)])
            copies = [portable(server, Path(scratch)) for server in servers.values()]
            artifacts = build_all(catalogue, copies, image)
            for row in rows:
                first, second = (per_request(artifacts[row.build], row, wanted, requests) for _ in range(2))
                print("\n".join(lines(row.name, wanted.label, first, second, functions)), flush=True)
    except WrkbookError as error:
        raise SystemExit(str(error)) from error
    print(NOTE)


def workload_of(label: str) -> Workload:
    """Return the workload of a label such as ``decode-10``."""
    found = re.fullmatch(r"(.+?)(?:-(\d+))?", label)
    name, size = found.groups() if found else (label, None)
    if name not in WORKLOADS or (WORKLOADS[name].size == "operations") != bool(size) or WORKLOADS[name].statement:
        raise WrkbookError(
            f"no workload to count is called {label!r}", "give one such as decode-10, discard-10 or ping"
        )
    return Workload(name, operations=int(size) if size else None)


def refuse_others(servers: Iterable[Server], workload: Workload) -> None:
    """Refuse servers in whose language callgrind cannot count.

    Raises
    ------
    WrkbookError
        Naming the server and what to do instead.
    """
    for server in servers:
        if server.language != "C++":
            raise WrkbookError(
                f"callgrind cannot count the {server.language} of {server.label} at {workload.label}",
                "for Go: go test -bench Codec -benchmem, in servers/shared/batch",
            )


def portable(server: Server, scratch: Path) -> Server:
    """Return the server with a copy of its sources that is built for a CPU that Valgrind knows."""
    folder = scratch / server.label / server.name
    shutil.copytree(server.folder, folder)
    makefile = folder / "CMakeLists.txt"
    makefile.write_text(makefile.read_text(encoding="utf-8").replace("-march=native", PORTABLE), encoding="utf-8")
    return server.model_copy(update={"folder": folder})


def per_request(artifact: Artifact, row: System, workload: Workload, requests: int) -> Functions:
    """Return the instructions of one request by function, without start-up."""
    fewer, more = (counted(artifact, row, workload, number) for number in (requests, 2 * requests))
    more.subtract(fewer)
    return Counter({name: round(count / requests) for name, count in more.items()})


def counted(artifact: Artifact, row: System, workload: Workload, requests: int) -> Functions:
    """Return the instructions of a whole launch with so many requests, by function."""
    server = artifact.server
    service = server.service(workload.name, row.codec)
    assert service is not None
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={COUNTS}", *server.launch.command]
    with tempfile.TemporaryDirectory(prefix="wrkbook-callgrind-") as folder:
        under = server.model_copy(update={"start": server.launch.model_copy(update={"command": command})})
        launched = replace(artifact, server=under, records=Path(folder))
        request = contract_request(service.path, workload, "pretty", 0)
        headers = {"Content-Type": request.content_type} if request.body else {}
        message = Message(request.method, request.path, request.body or None, headers)
        with hold_ports(1) as (port,), CountedProcess(launched, port, [0]) as process:
            with Connection(process.url, timeout_s=60.0) as connection:
                for _ in range(requests):
                    if (response := connection.request(message)).status != 200:
                        raise WrkbookError(
                            f"{row.name} responds with {response.status}", f"./wrkbook verify {row.build}"
                        )
            process.end()
        return annotated(artifact, Path(folder))


def annotated(artifact: Artifact, folder: Path) -> Functions:
    """Return the counts of the functions, as callgrind_annotate prints them."""
    command = ["callgrind_annotate", "--threshold=100", "--auto=no", COUNTS]
    sandbox = Sandbox(artifact.image, read_only={PROFILE: folder})
    printed = subprocess.run(sandbox.command(command), capture_output=True, text=True)
    if printed.returncode:
        raise WrkbookError(f"callgrind left no counts: {printed.stderr.strip()[-300:]}")
    return parsed(printed.stdout)


def parsed(text: str) -> Functions:
    """Return function → instructions from the output of callgrind_annotate."""
    found: Functions = Counter()
    for count, name in re.findall(r"^ *([\d,]+) \( *[\d.]+%\)  (?!PROGRAM TOTALS)(.+)$", text, re.MULTILINE):
        function = re.sub(r" \[[^\]]*\]$", "", name).split(":", 1)[-1]
        found[function] += int(count.replace(",", ""))
    return found


def lines(name: str, workload: str, first: Functions, second: Functions, shown: int) -> list[str]:
    """Return the lines about a row: the total of both results, their difference, and the largest functions."""
    one, two = first.total(), second.total()
    text = [f"{name}, {workload}: {one:,} instructions per request; again {two:,} ({two / one - 1:+.2%})"]
    return [
        *text,
        *(f"  {count / one:6.1%} {count:>9,}  {function[:100]}" for function, count in first.most_common(shown)),
    ]


if __name__ == "__main__":
    typer.run(main)
