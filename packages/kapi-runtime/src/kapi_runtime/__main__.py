"""``python -m kapi_runtime`` prints devices and what is wrong; ``setup`` makes the driver visible to all."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from kapi_sim.errors import DriverError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit status: 1 if something is wrong."""
    options = _parser().parse_args(arguments)
    if options.command is None:
        from kapi_runtime.diagnosis.report import doctor

        return 0 if doctor() else 1
    from kapi_runtime.sycl.devices import driver_setup

    try:
        done = driver_setup.remove() if options.undo else driver_setup.install()
    except DriverError as error:
        print(error, file=sys.stderr)
        return 1
    print("\n".join(done))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m kapi_runtime",
        description="Print devices, versions, and what is wrong if something is (exit status 1 then).",
    )
    commands = parser.add_subparsers(dest="command", metavar="command")
    setup = commands.add_parser(
        "setup",
        help="make the wheel's OpenCL driver visible to every program of this Python environment",
        description="Make the wheel's OpenCL driver visible to every program of this Python environment, "
        "also to programs that do not import kapi_runtime.",
    )
    setup.add_argument("--undo", action="store_true", help="take back what setup did")
    return parser


if __name__ == "__main__":
    sys.exit(main())
