"""Invariants of each module that is parsed, changed or printed."""

from __future__ import annotations

from collections import Counter

import llvmlite.binding as llvm

from kapi_lowering.emission.llvm_ir import LocalValue, parse_module


def printed_by_llvm(text):
    """A text as LLVM prints it. Structures have names that are a context's, so each text gets its own."""
    module = llvm.parse_assembly(text, llvm.create_context())
    module.verify()
    return str(module)


def check_uses(module):
    """Values know their users, and blocks and instructions know where they are."""
    for function in module.definitions:
        counted = {}
        for block in function.blocks:
            assert block.function is function
            for instruction in block.instructions:
                assert instruction.block is block
                assert len(instruction.operands) == len(instruction.form.operand_types)
                for operand in instruction.operands:
                    if isinstance(operand, LocalValue):
                        counted.setdefault(operand, []).append(instruction)
        for each in function._locals():
            assert Counter(each.users) == Counter(counted.get(each, [])), each


def check_round_trip(text):
    """The module of a text, whose print LLVM reads as the same; the text must be LLVM's."""
    module = parse_module(text)
    check_uses(module)
    assert printed_by_llvm(str(module)) == printed_by_llvm(text)
    return module


def one(text):
    """The module of a text that need not be LLVM's, and its only function."""
    module = check_round_trip(printed_by_llvm(text))
    (function,) = module.definitions
    return module, function
