"""Nothing that tests do follows a clock, the date, or a generator without a seed."""

from __future__ import annotations

import ast

FOLDERS = ("tests", "packages/*/tests", "packages/*/src/*/testing", "packages/*/examples", "examples", "tools")
UNSEEDED = {"default_rng", "Random", "RandomState"}
"""Generators that draw anew in each process where they have no argument."""
NEVER_THE_SAME = frozenset(
    "date.today datetime.now datetime.today datetime.utcnow time.time time.time_ns os.getrandom os.urandom "
    "random.SystemRandom secrets.randbits secrets.token_bytes secrets.token_hex uuid.uuid1 uuid.uuid4".split()
)


def unseeded(text):
    """The calls of a module whose results differ between two runs, with their lines."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            is_bare = name.rpartition(".")[2] in UNSEEDED and not node.args and not node.keywords
            if is_bare or ".".join(name.split(".")[-2:]) in NEVER_THE_SAME:
                found.append(f"{node.lineno}: {name}")
    return found


def test_tests_draw_from_seeds(root):
    assert unseeded("a = np.random.default_rng()\nb = time.time(), Random(3), time.monotonic()") == [
        "1: np.random.default_rng",
        "2: time.time",
    ]
    files = [file for folder in FOLDERS for file in sorted(root.glob(f"{folder}/**/*.py"))]
    assert len(files) > 200
    found = {str(file.relative_to(root)): unseeded(file.read_text("utf-8")) for file in files}
    assert {file: calls for file, calls in found.items() if calls} == {}
