"""Tables in files: told by their content, read by polars, explained where they cannot be read."""
