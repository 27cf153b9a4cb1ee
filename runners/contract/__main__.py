"""`python -m runners.contract --write-vectors`: write the golden vectors again, after a change of the contract."""

from __future__ import annotations

import argparse

from runners.contract.vectors.golden import golden
from runners.contract.vectors.model import PATH, dump


def main() -> None:
    """Write the vectors, or say whether the stored ones are up to date."""
    parser = argparse.ArgumentParser(prog="python -m runners.contract", description="The golden vectors.")
    parser.add_argument("--write-vectors", action="store_true", help="write them, instead of checking them")
    text = dump(golden())
    if parser.parse_args().write_vectors:
        PATH.write_text(text, encoding="utf-8")
    elif PATH.read_text(encoding="utf-8") != text:
        parser.exit(1, f"{PATH.name} is not up to date: write it again with --write-vectors\n")


if __name__ == "__main__":
    main()
