"""``python -m runners``: the command line."""

import signal
import sys

# From the first moment on: importing takes seconds, and the end of a command must be orderly in all of them.
signal.signal(signal.SIGTERM, signal.default_int_handler)
try:
    from runners.cli.commands import main

    main()
except KeyboardInterrupt:
    print("\nwrkbook: interrupted; every process of the run has been ended", file=sys.stderr)
    sys.exit(130)
