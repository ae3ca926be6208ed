"""The packages that these tests bring, which are on no path: they run against the package that is installed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

for _name in ("cpu_backend", "random_groups"):
    if _name not in sys.modules:  # the integration tests load the first one as well
        _file = Path(__file__).with_name(_name) / "__init__.py"
        _specification = importlib.util.spec_from_file_location(_name, _file)
        _package = importlib.util.module_from_spec(_specification)
        sys.modules[_name] = _package
        _specification.loader.exec_module(_package)
