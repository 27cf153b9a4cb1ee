"""wrkbook: measures web servers on equal work, and shows what it found."""

__version__ = "0.1.0"
