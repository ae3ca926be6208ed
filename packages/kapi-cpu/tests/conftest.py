"""The backend that these tests bring, which is on no path: they run against the package that is installed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

if "cpu_backend" not in sys.modules:  # the integration tests load it as well
    _specification = importlib.util.spec_from_file_location(
        "cpu_backend", Path(__file__).with_name("cpu_backend") / "__init__.py"
    )
    _package = importlib.util.module_from_spec(_specification)
    sys.modules["cpu_backend"] = _package
    _specification.loader.exec_module(_package)
