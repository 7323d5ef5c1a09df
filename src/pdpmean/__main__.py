"""``python -m pdpmean``, and what the command ``pdpmean`` runs."""

import os
import signal
from typing import Never

__all__ = ["main"]


def main() -> None:
    """Run the command that this process was called with."""
    usual = signal.getsignal(signal.SIGINT)
    if usual is signal.default_int_handler:  # or else Ctrl-C is meant for others, as under nohup
        signal.signal(signal.SIGINT, _leave)
    from typer.main import get_command

    from pdpmean.cli import app

    command = get_command(app)
    signal.signal(signal.SIGINT, usual)
    command(prog_name="pdpmean")


def _leave(*_: object) -> Never:
    """What Ctrl-C does while modules are imported, where an exception would surface anywhere: nothing is begun yet."""
    os.write(2, b"pdpmean: interrupted; nothing was written\n")
    os._exit(130)


if __name__ == "__main__":
    main()
