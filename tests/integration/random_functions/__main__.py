"""`python random_functions FIRST COUNT [FIRST COUNT ...]`: compare these seeds' functions, and print what differs."""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from random_functions import run_many

    numbers = iter(map(int, sys.argv[1:]))
    sys.exit(min(sum(run_many(first, count) for first, count in zip(numbers, numbers, strict=True)), 100))
