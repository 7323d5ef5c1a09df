"""``python -m pdpmean`` is ``pdpmean``."""

from pdpmean.cli import main

if __name__ == "__main__":
    main()
