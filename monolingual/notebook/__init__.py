"""What `import monolingual` offers: what the commands do, as functions that return objects."""
