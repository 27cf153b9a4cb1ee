"""What is measured: the catalogue of ``servers/``, the Debian image, builds, and the lifecycle of a server process."""
