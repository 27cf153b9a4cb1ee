"""Measuring: the design of a run, its trials, and the sampling of what the machine did meanwhile."""
