"""From raw records to estimates: reads the ledger and what the generators parsed, and starts nothing."""
