"""Throughput and its cost: charts, curves, tables, sentences."""
