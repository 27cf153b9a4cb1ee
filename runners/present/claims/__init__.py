"""Published claims beside measured results: charts, tables, sentences."""
