"""Latency under load: charts, tables and sentences."""
