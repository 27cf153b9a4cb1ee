"""Growth with the number of server CPUs: charts, tables, sentences."""
