"""Files: the records of files, read as streams in bounded memory; one module per format.

May import: as sources.
"""
