"""Random kernels of loops in loops in branches, whose variables take each other's values."""

from __future__ import annotations

import random

import kapi_runtime as kapi

__all__ = ["SPACES", "Nested"]

SPACES = {
    "i = item.get_id(0)": [kapi.Range(64), kapi.Range(50), kapi.Range(7), kapi.Range(96)],
    "i = item.get_id(0) * 24 + item.get_id(1)": [kapi.Range(4, 24)],
    "i = item.get_id(0) + item.get_id(1) * 24": [kapi.Range(24, 3)],
    "i = item.get_id(2) + item.get_id(0) * 16": [kapi.Range(4, 1, 16)],
    "i = item.get_global_id(0)": [kapi.NdRange(96, 16)],
    "i = item.get_global_id(0) * 8 + item.get_global_id(1)": [kapi.NdRange((8, 8), (4, 4))],
}
"""The expressions of a work-item's number, and their index spaces of at most 96 work-items."""

CONDITIONS = [
    "i % 2 > 0", "i % 3 == 1", "i > 7", "(i & 4) > 0", "i == 63", "i < n // 2", "a[i] > 0", "a[i] == m", "a[0] > 1",
    "n > 40", "x > 2", "v > w", "v < 3.0", "v - w < 0.75", "w != v", "w > i", "u > 4", "(u & 1) == 0", "b", "not b",
    "q > p", "(q & np.int32(1)) == 0", "f < np.float32(2.5)",
]  # fmt: skip
UPDATES = [
    "v += 1.0", "w += 1.0", "w -= 1.0", "v = v * 0.5 + 1.0", "t = t * 0.5 - 1.0", "out[3, i] += 1.0",
    "v = w", "v = w", "v = w", "w = v", "v = t", "t = w", "t = v", "v, w = w, v", "v, w, t = w, t, v", "f = v32(t)",
    "u += 1", "u ^= 5", "u = (u * 3 + 1) & 1023", "u += m & 7", "u += i & 3", "u += a[i]", "m = u", "m += 1",
    "u, m = m, u", "q += np.int32(1)", "p = q", "q = np.int32((q ^ p) & 63)", "f += np.float32(1)", "g = f", "f = g",
    "f, g = g, f", "b = {}", "v = w if {} else v", "t = v if {} else w", "u = m if {} else u", "q = p if {} else q",
]  # fmt: skip
HELPER = """
@kapi.device_func
def turned(i, n, x, a, v, w):
    for k in range({turns}):
        if {condition}:
            return v
        v = w
        w {step}
        if {other}:
            {leave}
    return {result}
"""


class Nested:
    """Writes one kernel: `source`, for the index space `space`."""

    spaces = SPACES

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.loops = 0
        self.number = self.random.choice(list(self.spaces))
        self.space = self.random.choice(self.spaces[self.number])
        self.has_groups = isinstance(self.space, kapi.NdRange)
        self.has_helper = self.random.random() < 0.25
        self.source = self.write()

    def condition(self) -> str:
        choose = self.random.choice
        words = [*CONDITIONS, *(["tile[j] > 1", "tile[j] == u"] if self.has_groups else [])]
        first, other = choose(words), choose(words)
        return choose(
            [first] * 14 + [f"({first}) and ({other})", f"({first}) or ({other})", f"({first}) != ({other})"] * 2
        )

    def update(self) -> str:
        choose = self.random.choice
        if self.has_helper and self.random.random() < 0.1:
            return choose(["v", "t"]) + " = turned(i, n, x, a, v, w)"
        if self.has_groups and self.random.random() < 0.05:
            return "tile[j] = u"
        return choose(UPDATES).replace("v32(t)", "np.float32(t)").format(self.condition())

    def block(self, depth: int, loop: str) -> list[str]:
        return [line for _ in range(self.random.choice([1, 1, 2, 3])) for line in self.statement(depth, loop)]

    def statement(self, depth: int, loop: str) -> list[str]:
        """`loop` is whether and how the innermost loop may be left."""
        drawn = self.random.random()
        if depth > 0 and drawn > 0.6:
            return self.loop(depth)
        if depth > 0 and drawn > 0.35:
            return self.branch(depth, loop)
        drawn = self.random.random()
        if loop == "left" and drawn < 0.12:
            return [f"if {self.condition()}:", "    " + self.random.choice(["break", "continue"])]
        if drawn > 0.97 and not self.has_groups:
            return [f"if {self.condition()}:", "    out[0, i] = v", "    out[1, i] = u", "    return"]
        return [self.update()]

    def branch(self, depth: int, loop: str) -> list[str]:
        lines = [f"if {self.condition()}:", *indented(self.block(depth - 1, loop))]
        if self.random.random() < 0.2:
            lines += [f"elif {self.condition()}:", *indented(self.block(depth - 1, loop))]
        if self.random.random() < 0.5:
            lines += ["else:", *indented(self.block(depth - 1, loop))]
        return lines

    def loop(self, depth: int) -> list[str]:
        self.loops += 1
        k, choose = f"k{self.loops}", self.random.choice
        body = [choose(["v = w", "t = v", "v = t", "m = u", "g = f", "p = q", self.update()])]
        body = body if self.random.random() < 0.5 else []
        body += self.block(depth - 1, "left")
        body += [self.update()] if self.random.random() < 0.3 else []
        body += [f"u += int({k}) & 3"] if self.random.random() < 0.15 else []
        body += [f"m = int({k})"] if self.random.random() < 0.1 else []
        last = [f"if {k} > {choose([128, 150, 200])}:", "    break"]
        endless = [f"{k} += {choose(['n', '64', 'n + x'])}", *last, *body]
        return choose(
            [
                [f"for {k} in range(x):", *indented(body)],
                [f"for {k} in range(x, 0, -1):", *indented(body)],
                [f"for {k} in range({choose([2, 3, 4])}):", *indented(body)],
                [f"for {k} in range(a[i]):", *indented(body)],
                [f"for {k} in range(i % 4):", *indented(body)],
                [f"for {k} in range(np.int32(3)):", *indented(body)],
                [f"for {k} in range(0, 200, n):", *indented(body)],
                [f"for {k} in range(x if {self.condition()} else 2):", *indented(body)],
                [f"{k} = 0", f"while {k} < {choose([100, 200, 256])}:", *indented([f"{k} += n", *body])],
                [f"{k} = 0", f"while {k} < 100 + i:", *indented([f"{k} += n", *body])],
                [f"{k} = 1", f"while {k} < {choose([8, 20])}:", *indented([f"{k} *= 2", *body])],
                [f"{k} = 0.0", f"while {k} < {choose(['x', '2.25'])}:", *indented([f"{k} += 1.0", *body])],
                [f"{k} = np.int32(0)", f"while {k} < np.int32(3):", *indented([f"{k} += np.int32(1)", *body])],
                [f"{k} = 0", "while True:", *indented(endless)],
                [
                    f"{k} = {choose([0, 'i % 2', 'n - 64'])}",
                    f"while {k} < {choose([3, 'x'])} and ({self.condition()}):",
                    *indented([f"{k} += 1", *body]),
                ],
            ]
        )

    def together(self) -> list[str]:
        """A loop in whose iterations the work-items of a group converge."""
        self.loops += 1
        k = f"k{self.loops}"
        convergent = [
            ["kapi.group_barrier(group)"],
            ["tile[j] = u", "kapi.group_barrier(group)", "m = tile[j]"],
            ["m += kapi.group_broadcast(group, x)"],
            ["u += kapi.reduce_over_group(group, x, kapi.plus) & 7"],
            ["if kapi.any_of_group(sub_group, n > 40):", "    v += 1.0"],
        ]
        body = self.block(2, "kept") + self.random.choice(convergent) + self.block(1, "kept")
        head = [[f"for {k} in range(x):"], [f"{k} = 0", f"while {k} < 200:", f"    {k} += n"]]
        return [*self.random.choice(head), *indented(body)]

    def write(self) -> str:
        choose = self.random.choice
        lines = [self.number, "v = 0.0", f"w = {choose(['1.0', '1.0', 'a[i] * 1.0'])}", "t = 2.0", "u = 1", "m = 2"]
        lines += ["q = np.int32(0)", "p = np.int32(1)", "f = np.float32(0)", "g = np.float32(1)"]
        lines += [f"b = {choose(['i % 2 == 0', 'x > 1', 'a[i] > 1'])}"]
        if self.has_groups:
            lines += ["j = item.get_local_linear_id()", "group = item.get_group()", "sub_group = item.get_sub_group()"]
            lines += ["tile[j] = a[i]"]
        for _ in range(self.random.randint(1, 2)):
            if self.has_groups and self.random.random() < 0.4:
                lines += self.together()
            else:
                depth = choose([1, 2, 3])
                lines += self.branch(depth + 1, "") if self.random.random() < 0.5 else self.loop(depth)
        lines += ["out[0, i] = v", "out[1, i] = w + t", "out[2, i] = u + m", "out[4, i] = q + p", "out[5, i] = f + g"]
        helper = HELPER.format(
            turns=choose(["x", "a[i]", "i % 4", "4"]),
            condition=choose(["v > 3.0", "i == 5", "a[i] == k", "k > i"]),
            step=choose(["+= 1.0", "-= 2.0", "= w * 0.5 + 1.0"]),
            other=choose(["i % 3 == 1", "w > v", "k > 2", "a[i] > 1"]),
            leave=choose(["break", "continue", "return w", "v += 1.0"]),
            result=choose(["v", "w", "v + w"]),
        )
        start = f"def kernel(item, n, x, a, out{', tile' if self.has_groups else ''}):"
        return "\n".join([*([helper] if self.has_helper else []), start, *indented(lines)]) + "\n"


def indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]
