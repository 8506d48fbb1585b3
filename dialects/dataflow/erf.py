"""
The Gauss error function over arrays, in double precision.

W. J. Cody, "Rational Chebyshev approximations for the error function", Mathematics of Computation 23 (1969), as in
the Fortran routine CALERF: three rational functions, for |x| <= 0.46875, up to 4 and above; relative error about 1e-16.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Numerator and denominator of each range, highest power first.
_SMALL_P = (
    1.85777706184603153e-1,
    3.16112374387056560e0,
    1.13864154151050156e2,
    3.77485237685302021e2,
    3.20937758913846947e3,
)
_SMALL_Q = (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3)
_MIDDLE_P = (
    2.15311535474403846e-8,
    5.64188496988670089e-1,
    8.88314979438837594e0,
    6.61191906371416295e1,
    2.98635138197400131e2,
    8.81952221241769090e2,
    1.71204761263407058e3,
    2.05107837782607147e3,
    1.23033935479799725e3,
)
_MIDDLE_Q = (
    1.0,
    1.57449261107098347e1,
    1.17693950891312499e2,
    5.37181101862009858e2,
    1.62138957456669019e3,
    3.29079923573345963e3,
    4.36261909014324716e3,
    3.43936767414372164e3,
    1.23033935480374942e3,
)
_LARGE_P = (
    1.63153871373020978e-2,
    3.05326634961232344e-1,
    3.60344899949804439e-1,
    1.25781726111229246e-1,
    1.60837851487422766e-2,
    6.58749161529837803e-4,
)
_LARGE_Q = (
    1.0,
    2.56852019228982242e0,
    1.87295284992346047e0,
    5.27905102951428412e-1,
    6.05183413124413191e-2,
    2.33520497626869185e-3,
)


def erf(values: NDArray[Any]) -> NDArray[np.float64]:
    """erf of each element, as f64. NaN gives NaN."""
    x = np.asarray(values, np.float64)
    size = np.abs(x)
    square = np.minimum(size, 0.46875) ** 2
    small = x * np.polyval(_SMALL_P, square) / np.polyval(_SMALL_Q, square)
    y = np.clip(size, 0.46875, 4.0)
    middle = np.exp(-y * y) * np.polyval(_MIDDLE_P, y) / np.polyval(_MIDDLE_Q, y)
    y = np.clip(size, 4.0, 27.0)
    inverse = 1.0 / (y * y)
    tail = inverse * np.polyval(_LARGE_P, inverse) / np.polyval(_LARGE_Q, inverse)
    large = np.exp(-y * y) * (0.56418958354775628695 - tail) / y
    outer = np.copysign(1.0 - np.where(size <= 4.0, middle, large), x)
    return np.where(np.isnan(x), x, np.where(size <= 0.46875, small, outer))
