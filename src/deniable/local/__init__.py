"""The vectorized half of the local mechanisms; importing it registers them."""

from deniable.local import frequency as frequency
from deniable.local import longitudinal as longitudinal
from deniable.local import mean as mean
