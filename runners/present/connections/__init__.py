"""Growth with the number of connections: charts, tables, sentences."""
