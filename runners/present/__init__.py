"""Presentation: charts, tables, sentences and the HTML report, made from frames alone."""
