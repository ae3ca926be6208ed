"""Messages in CUDA's words: a work-item is a thread, a work-group a block, a sub-group a warp."""

from __future__ import annotations

import re

from kapi_sim.errors import KapiError

__all__ = ["in_cuda_words", "reworded"]

_QUOTED = re.compile(r"(`[^`]*`)")
_IN_QUOTES = {
    "`group_barrier`": "`cuda.syncthreads()`",
    "`get_local_id`": "`cuda.laneid`",
    "`kapi.PrivateArray`": "`cuda.local.array`",
}
_RULES = [
    (re.compile(pattern), words)
    for pattern, words in (
        (
            r"the atomic_fence at line (\d+) has memory_scope \w+, which does not hold both work-items: make it "
            r"MemoryScope\.DEVICE",
            r"the fence at line \1 does not hold both threads: make it cuda.threadfence()",
        ),
        (r"the RELAXED atomics at lines", "the atomics at lines"),
        (
            r"write with MemoryOrder\.RELEASE and read with ACQUIRE, or put an atomic_fence before",
            "put a cuda.threadfence() before",
        ),
        (r"local memory of a work-group", "shared memory of a block"),
        (r"\blocal memory\b", "shared memory"),
        (r"\bprivate memory\b", "local memory"),
        (r"\bprivate arrays\b", "local arrays"),
        (r"\bPrivateArray\b", "cuda.local.array"),
        (r"\bsmaller LocalAccessors\b", "smaller shared arrays"),
        (r"; choose a smaller local_range", "; launch smaller blocks"),
        (r"with an AtomicRef only", "with functions of cuda.atomic only"),
        (r"\ban AtomicRef\b", "a function of cuda.atomic"),
        (r"\bAtomicRef\b", "function of cuda.atomic"),
        (r"\ban? group algorithm\b", "a collective function"),
        (r"\bgroup algorithm\b", "collective function"),
        (r"\bwork-items\b", "threads"),
        (r"\bwork-item\b", "thread"),
        (r"\bwork-groups\b", "blocks"),
        (r"\bwork-group\b", "block"),
        (r"\bsub-groups\b", "warps"),
        (r"\bsub-group\b", "warp"),
        (r"\bgroups\b(?![\w\[.(])", "blocks"),
        (r"\bgroup\b(?![\w\[.(])", "block"),
        (r"\bgroup_barrier\b", "syncthreads"),
        (r" with a fence_scope too narrow", " of a scope too narrow"),
    )
]


def in_cuda_words(text: str) -> str:
    """Return a message with CUDA's words for what it speaks of; what it quotes stays."""
    parts = _QUOTED.split(text)
    return "".join(_IN_QUOTES.get(part, part) if part.startswith("`") else _reworded(part) for part in parts)


def _reworded(text: str) -> str:
    for pattern, words in _RULES:
        text = pattern.sub(words, text)
    return text


def reworded(error: BaseException) -> None:
    """Give an error, and what it came from, its message in CUDA's words."""
    seen: list[BaseException] = []
    each: BaseException | None = error
    while each is not None and not any(each is known for known in seen):
        seen.append(each)
        if isinstance(each, KapiError):
            each.message = in_cuda_words(each.message)
            each.args = (each.message, *each.args[1:])
        notes = getattr(each, "__notes__", None)
        if notes:
            notes[:] = [in_cuda_words(note) for note in notes]
        each = each.__cause__
