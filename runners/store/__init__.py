"""The ledger in ``data/raw`` and the tables in ``data/processed``."""
