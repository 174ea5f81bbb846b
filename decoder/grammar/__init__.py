"""Rule tables as the decoder looks rules up."""
