"""Published claims: the register, the verdicts, and the known flaws."""
