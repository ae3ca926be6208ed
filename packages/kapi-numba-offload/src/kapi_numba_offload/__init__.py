"""`numba.njit` functions over arrays of devices, run as kapi kernels on the device that holds the data.

Importing it, as `import kapi_runtime` does, points the OpenCL loader to the driver that comes as a wheel. With the
distribution installed Numba registers it by itself; `unregister` and `register` switch that off and on.
"""

from __future__ import annotations

import kapi_runtime as _kapi_runtime  # for its one side effect: the driver is found before the first device query
from _kapi_numba_hooks import CALLS as _CALLS
from _kapi_numba_hooks import install as register
from _kapi_numba_hooks import is_installed as is_registered
from _kapi_numba_hooks import remove as unregister
from kapi_numba_offload.analysis.numpy_functions import STATUSES, numpy_functions, status
from kapi_numba_offload.frontend import entry as _entry  # registers the types of index spaces
from kapi_numba_offload.frontend.decorator import dpjit, offload
from kapi_numba_offload.frontend.host_calls import offload_calls as _offload_calls
from kapi_numba_offload.run.explanation import Explanation, explain
from kapi_numba_offload.run.fallback import REASONS, OffloadFallbackWarning, Reason
from kapi_numba_offload.run.offload_report import (
    ExplainedPart,
    OffloadReport,
    PartReport,
    html_report,
    offload_diagnostics,
    offload_reports,
)
from kapi_numba_offload.run.options import OffloadOptions
from kapi_numba_offload.run.simulation import check_races
from kapi_numba_offload.run.source_warnings import ArrayIntegersWarning

__all__ = [
    "REASONS",
    "STATUSES",
    "ArrayIntegersWarning",
    "ExplainedPart",
    "Explanation",
    "OffloadFallbackWarning",
    "OffloadOptions",
    "OffloadReport",
    "PartReport",
    "Reason",
    "check_races",
    "dpjit",
    "explain",
    "html_report",
    "is_registered",
    "numpy_functions",
    "offload",
    "offload_diagnostics",
    "offload_reports",
    "register",
    "status",
    "unregister",
]

__version__ = "0.1.0"

del _kapi_runtime, _entry

register()
_offload_calls(_CALLS)
