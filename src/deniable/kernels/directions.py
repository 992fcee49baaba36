"""Normal noise around a direction, and the sums of what is sent: floating-point, as ``local.vector.priv_unit`` says."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from deniable.kernels.compiled import Array, inlined, kernel

_LOW_BITS = np.uint64(4095)


@inlined
def polynomial(x: Any, a: float, b: float, c: float, d: float, e: float, f: float, g: float, h: float) -> Any:
    """A polynomial of degree seven, its constant term first."""
    return a + x * (b + x * (c + x * (d + x * (e + x * (f + x * (g + x * h))))))


@kernel
def normal_quantile(p: float) -> float:
    """The number below which a share p of the normal law lies, to about 1e-15 of itself (Wichura 1988, PPND16); p is in (0, 1)."""
    q = p - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        above = polynomial(
            r,
            3.3871328727963666080e0,
            1.3314166789178437745e2,
            1.9715909503065514427e3,
            1.3731693765509461125e4,
            4.5921953931549871457e4,
            6.7265770927008700853e4,
            3.3430575583588128105e4,
            2.5090809287301226727e3,
        )
        below = polynomial(
            r,
            1.0,
            4.2313330701600911252e1,
            6.8718700749205790830e2,
            5.3941960214247511077e3,
            2.1213794301586595867e4,
            3.9307895800092710610e4,
            2.8729085735721942674e4,
            5.2264952788528545610e3,
        )
        return float(q * above / below)
    r = math.sqrt(-math.log(min(p, 1.0 - p)))
    if r <= 5.0:
        r -= 1.6
        above = polynomial(
            r,
            1.42343711074968357734e0,
            4.63033784615654529590e0,
            5.76949722146069140550e0,
            3.64784832476320460504e0,
            1.27045825245236838258e0,
            2.41780725177450611770e-1,
            2.27238449892691845833e-2,
            7.74545014278341407640e-4,
        )
        below = polynomial(
            r,
            1.0,
            2.05319162663775882187e0,
            1.67638483018380384940e0,
            6.89767334985100004550e-1,
            1.48103976427480074590e-1,
            1.51986665636164571966e-2,
            5.47593808499534494600e-4,
            1.05075007164441684324e-9,
        )
    else:
        r -= 5.0
        above = polynomial(
            r,
            6.65790464350110377720e0,
            5.46378491116411436990e0,
            1.78482653991729133580e0,
            2.96560571828504891230e-1,
            2.65321895265761230930e-2,
            1.24266094738807843860e-3,
            2.71155556874348757815e-5,
            2.01033439929228813265e-7,
        )
        below = polynomial(
            r,
            1.0,
            5.99832206555887937690e-1,
            1.36929880922735805310e-1,
            1.48753612908506148525e-2,
            7.86869131145613259100e-4,
            1.84631831751005468180e-5,
            1.42151175831644588870e-7,
            2.04426310338993978564e-15,
        )
    return float(above / below if q > 0.0 else -above / below)


@inlined
def uniform(word: Any) -> Any:
    """A number strictly between 0 and 1, of the 52 high bits of a word."""
    return (np.float64(word >> np.uint64(12)) + 0.5) * 2.0**-52


@kernel
def perturb_direction(
    rows: Array, keep: np.uint64, inside: float, below: float, resolution: float, middle: float, out: Array, words: Array
) -> tuple[int, int]:
    """PrivUnit: one row of points for each row of the unit ball.

    A person uses a word for the coin, one for the component along the direction, one for each coordinate, and one for the coordinate that
    makes a direction of the row. ``inside`` and ``below`` are the normal law's shares above and below the cap's edge.
    """
    dimension = rows.shape[1]
    width = dimension + 3
    noise = np.empty(dimension)
    served = min(rows.shape[0], words.size // width)
    for i in range(served):
        start = i * width
        length = 0.0
        for k in range(dimension):
            length += rows[i, k] * rows[i, k]
        rest = math.sqrt(max(1.0 - length, 0.0))
        scale = 1.0 / math.sqrt(length + rest * rest)  # 1, up to rounding
        u = uniform(words[start + 1])
        along = -normal_quantile(u * inside) if words[start] < keep else normal_quantile(u * below)
        across = normal_quantile(uniform(words[start + 2 + dimension])) * rest
        for k in range(dimension):
            noise[k] = normal_quantile(uniform(words[start + 2 + k]))
            across += noise[k] * rows[i, k]
        more = (along - across * scale) * scale
        for k in range(dimension):
            chance = (np.float64(words[start + 2 + k] & _LOW_BITS) + 0.5) / 4096.0
            point = math.floor((noise[k] + more * rows[i, k]) * resolution + middle + chance)
            out[i, k] = np.uint16(min(max(point, 0.0), 2.0 * middle - 1.0))  # 16 standard deviations out: it does not happen
    return served, served * width


@kernel
def add_points(points: Array, sums: Array) -> None:
    """Add the columns' sums to the first half of ``sums``, and the sums of their squares to the second."""
    dimension = points.shape[1]
    for i in range(points.shape[0]):
        for k in range(dimension):
            point = np.int64(points[i, k])
            sums[k] += point
            sums[dimension + k] += point * point
