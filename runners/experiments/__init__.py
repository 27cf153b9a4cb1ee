"""Imports of a notebook: the experiment, the comparison of two runs, the claim review."""
