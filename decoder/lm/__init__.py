"""Language models: estimated, read, queried."""
