"""Files: paths, globs and folders, read as streams in bounded memory; one module per format.

May import: as sources.
"""
