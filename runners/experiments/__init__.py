"""What a notebook imports: the experiment, the comparison of two runs, the claim review."""
