"""Reads of local memory that nobody wrote."""

from __future__ import annotations

from kapi_sim.checks.bounds import spell
from kapi_sim.checks.races import Trail
from kapi_sim.errors import UninitializedReadError
from kapi_sim.source import located_at, site_of

__all__ = ["unwritten_read"]


def unwritten_read(trail: Trail) -> Exception | None:
    """Return the error for the first read, in the phase that ends, of a cell that nobody wrote in it.

    A cell that another work-item wrote after the read is a race, which the write reports: only at the
    end of a phase is it known which of the two it is.

    Parameters
    ----------
    trail : Trail
        Accesses to a group's local memory; what was read too early is forgotten.
    """
    found: Exception | None = None
    for address, (uid, epoch, code, instruction, array, index, _, _) in trail.unwritten.items():
        write = trail.writes.get(address)
        if write is not None and write[0] != uid and write[1] == epoch:
            continue
        error = UninitializedReadError(
            f"{spell(array.name, index)} ({trail.space} memory) must be written before it is read, "
            f"got a read of what nobody wrote\n"
            f"  {trail.clock.describe(uid)} read it at {site_of(code, instruction)}\n"
            f"  write each cell first, with a `group_barrier` between if another work-item writes it"
        )
        found = located_at(error, code, instruction)
        break
    trail.unwritten.clear()
    return found
