"""The command `halldetect`, also as python -m halldetect."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line; print one line for Ctrl-C, even during imports."""
    try:
        from halldetect.cli import main as run

        return run()
    except KeyboardInterrupt:
        print("halldetect: interrupted", file=sys.stderr)
        return 130  # halldetect.cli.exits.INTERRUPTED, which may not be imported yet


if __name__ == "__main__":
    sys.exit(main())
