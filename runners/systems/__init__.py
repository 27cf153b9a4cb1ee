"""Systems under test: the catalogue of ``servers/``, the Debian image, builds, and the life cycle of a server process."""
