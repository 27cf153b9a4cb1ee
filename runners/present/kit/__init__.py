"""What charts, tables and sentences are made of: theme, rows, markup, frames."""
