"""Latency at equal request rates: charts and tables."""
