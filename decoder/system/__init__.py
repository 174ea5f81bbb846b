"""Everything that translating needs, in one directory."""
