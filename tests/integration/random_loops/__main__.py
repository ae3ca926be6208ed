"""`python random_loops FIRST COUNT`: run the loops of these seeds, and print those that fail."""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from random_loops import run_many

    sys.exit(run_many(int(sys.argv[1]), int(sys.argv[2])))
