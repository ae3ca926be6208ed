"""Products of 128 bits, which LLVM makes of 64-bit ones by halves, as OpenCL's function of their upper half."""

from __future__ import annotations

import re

from ..ir.functions import derived

__all__ = ["name_products"]

_WIDENED = re.compile(r"^ +(%\S+) = zext (?:nneg )?i64 (\S+) to i128$", re.MULTILINE)
_PRODUCT = re.compile(r"^ +(%\S+) = mul (?:nuw |nsw )*i128 (\S+), (\S+)$", re.MULTILINE)
_UPPER = re.compile(r"^ +(%\S+) = lshr (?:exact )?i128 (\S+), 64$", re.MULTILINE)
_TAKEN = re.compile(r"^( +%\S+ = )trunc (?:nuw |nsw )*i128 (\S+) to i64$", re.MULTILINE)
_COMPARED = re.compile(
    r"^ +(?P<name>%\S+) = icmp (?:samesign )?[su]?(?P<word>eq|ne|[lg][te]) i128 (?P<value>%\S+), (?P<number>\d+)$",
    re.MULTILINE,
)
_FUNCTION = "_Z6mul_himm"


def name_products(text: str) -> str:
    """LLVM IR text in which the upper 64 bits of a product are those of OpenCL's `mul_hi`.

    Of whatever else is 128 bits wide `validation` tells.
    """
    if " i128 " not in text:
        return text
    made = "\n".join(map(_named, re.split(r"\n(?=define )", text)))
    declaration = f"\ndeclare spir_func i64 @{_FUNCTION}(i64, i64) nounwind memory(none)\n"
    return made if f"declare spir_func i64 @{_FUNCTION}(" in made else made + declaration


def _named(function: str) -> str:
    """The text of one function; what it names is its own."""
    narrow = dict(_WIDENED.findall(function))
    products = {
        name: (narrow[x], narrow[y]) for name, x, y in _PRODUCT.findall(function) if x in narrow and y in narrow
    }
    halves = dict(_UPPER.findall(function))

    def taken(found: re.Match[str]) -> str:
        start, name = found.groups()
        factors = products.get(halves.get(name, ""))
        if factors is None:
            return found[0]
        return f"{start}call spir_func i64 @{_FUNCTION}(i64 {factors[0]}, i64 {factors[1]})"

    def compared(found: re.Match[str]) -> str:
        """An upper half that is compared in 128 bits, where it is not negative."""
        factors = products.get(halves.get(found["value"], ""))
        if factors is None or int(found["number"]) >= 2**64:
            return found[0]
        word = found["word"] if found["word"] in ("eq", "ne") else f"u{found['word']}"
        name, upper = found["name"], derived(found["name"], "upper")
        call = f"  {upper} = call spir_func i64 @{_FUNCTION}(i64 {factors[0]}, i64 {factors[1]})"
        return f"{call}\n  {name} = icmp {word} i64 {upper}, {found['number']}"

    function = _COMPARED.sub(compared, _TAKEN.sub(taken, function))
    # What was only on the way goes, the last steps first.
    for pattern in (_UPPER, _PRODUCT, _WIDENED):
        for line in list(pattern.finditer(function)):
            is_used = len(re.findall(re.escape(line[1]) + r"(?![\w.])", function)) > 1
            function = function if is_used else function.replace(line[0] + "\n", "", 1)
    return function
