"""Servers that models are asked of, on the loopback."""
