"""Model servers on the loopback."""
