"""The bulk half of the local mechanisms; importing it registers them."""

from deniable.local import frequency as frequency
