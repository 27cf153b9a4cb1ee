"""What a TCP proxy must do: both ends in one hand, the cases, and the check."""
