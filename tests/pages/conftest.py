from __future__ import annotations

import sys
from pathlib import Path

# For the repository's own scripts, which are no package that could be installed.
sys.path.insert(0, str(Path(__file__).parents[2]))
