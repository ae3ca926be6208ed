"""``numba.cuda.libdevice``: functions that only a GPU's compiler knows; each is refused when it is called."""

from __future__ import annotations

from kapi_sim.numba_cuda.support import REFUSED, Refused

__all__: list[str] = []

# Any other name is no attribute: tools such as pytest ask each module for names of their own.
_OF_DOUBLES_AND_FLOATS = """
acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh cospi erf erfc erfcinv erfcx erfinv exp
exp10 exp2 expm1 fabs fdim floor fma fmax fmin fmod frexp hypot ilogb j0 j1 jn ldexp lgamma llrint llround log
log10 log1p log2 logb modf nearbyint nextafter normcdf normcdfinv pow powi rcbrt remainder remquo rint round
rsqrt scalbn sin sincos sincospi sinh sinpi sqrt tan tanh tgamma trunc y0 y1 yn
""".split()
_OTHERS = """
abs brev brevll byte_perm clz clzll double2hiint double2loint double_as_longlong fast_cosf fast_exp10f
fast_expf fast_fdividef fast_log10f fast_log2f fast_logf fast_powf fast_sincosf fast_sinf fast_tanf ffs ffsll
finitef float_as_int hadd half2float hiloint2double int_as_float isfinited isinfd isinff isnand isnanf llabs
llmax llmin longlong_as_double max min mul24 mul64hi mulhi popc popcll rhadd sad saturatef signbitd signbitf
uhadd ullmax ullmin umax umin umul24 umul64hi umulhi urhadd usad
""".split()
_ROUNDED = """
dadd ddiv dmul double2float double2int double2ll double2uint double2ull drcp dsqrt fadd fdiv float2half
float2int float2ll float2uint float2ull fma fmaf fmul frcp frsqrt fsqrt fsub int2double int2float ll2double
ll2float uint2double uint2float ull2double ull2float
""".split()
_NAMES = frozenset(
    [*_OTHERS, *(name + suffix for name in _OF_DOUBLES_AND_FLOATS for suffix in ("", "f"))]
    + [f"{name}_{mode}" for name in _ROUNDED for mode in ("rd", "rn", "ru", "rz")]
)


def __getattr__(name: str) -> Refused:
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return Refused(f"libdevice.{name}", REFUSED["libdevice"])
