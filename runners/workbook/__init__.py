"""Execute notebooks and write their reports and the index."""
