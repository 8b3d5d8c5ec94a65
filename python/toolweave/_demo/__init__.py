"""The demo: recorded replies played in the terminal, and the playground in the browser."""
