"""Compare the statements from one number to another: ``python -m compositions 0 300``."""

from __future__ import annotations

import sys

from compositions.running import main

main(int(sys.argv[1]), int(sys.argv[2]))
