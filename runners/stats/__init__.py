"""Statistics: arrays in, numbers out; no file and no system is known here."""
