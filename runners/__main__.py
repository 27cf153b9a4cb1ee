"""``python -m runners``: the command line."""

from runners.commands import main

main()
