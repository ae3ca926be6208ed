"""Run time of regions and loops: placement, memory, launches, reasons and records."""
