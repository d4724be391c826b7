"""python -m halldetect"""

from __future__ import annotations

import sys

from halldetect.cli import main

if __name__ == "__main__":
    sys.exit(main())
