"""Files: paths and globs, one module per format."""
