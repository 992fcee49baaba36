"""The dashboard: what a collector shows people in a browser, from its own origin alone."""
