"""Models: adapters for the clients of providers, and recorded ones."""
