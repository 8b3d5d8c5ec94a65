"""Faults of servers, connections and databases, for tests and benchmarks."""
