"""What the reports of all models have in common: the page with its sections, settings, traces."""
