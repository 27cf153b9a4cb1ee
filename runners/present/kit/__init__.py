"""Parts of charts, tables and sentences: theme, rows, markup, frames."""
