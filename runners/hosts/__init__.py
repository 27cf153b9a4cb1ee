"""Roles on other machines: their inventory, the engine (Dask over SSH and TLS), and the inspection of the hosts."""
