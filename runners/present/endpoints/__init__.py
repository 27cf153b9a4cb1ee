"""Endpoints: charts, tables, sentences."""
