"""Shared by every room: records, units, errors, folders, thresholds, parameters."""
