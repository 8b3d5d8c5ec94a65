"""Natural tool use: inline calls with any model that writes text."""
