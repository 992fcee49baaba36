"""What a device works out alone: its person's own factors, and where the items should move for this person."""

from __future__ import annotations

import numpy as np

from deniable.kernels.compiled import Array
from deniable.tasks.gradients import shortened


def own_factors(items: Array, rated: Array, values: Array, ridge: float) -> Array:
    """Each person's own part of the model: how kindly they rate, and their taste, by ridge regression on what they rated.

    ``items`` has a row for each item: how good it is, and its factors. A prediction is goodness + kindness + factors · taste. Whoever rated
    nothing has zeros.

    >>> items = np.array([[0.5, 1.0], [0.0, -1.0]])
    >>> rated, values = np.array([[True, True], [False, False]]), np.array([[1.0, -0.5], [0.0, 0.0]])
    >>> own_factors(items, rated, values, ridge=0.0001)[1].tolist()
    [0.0, 0.0]
    >>> own_factors(items, rated, values, ridge=0.0001)[0].round(3).tolist()
    [0.0, 0.5]
    """
    known = np.concatenate([np.ones((len(items), 1)), items[:, 1:]], axis=1)
    width = known.shape[1]
    squares = (known[:, :, None] * known[:, None, :]).reshape(len(items), -1)
    left = (rated.astype(float) @ squares).reshape(-1, width, width) + ridge * np.eye(width)
    right = np.where(rated, values - items[:, 0], 0.0) @ known
    return np.asarray(np.linalg.solve(left, right[:, :, None])[:, :, 0])


def predictions(items: Array, own: Array) -> Array:
    """What each person would say of each item, scaled."""
    return np.asarray(own[:, :1] + items[:, 0] + own[:, 1:] @ items[:, 1:].T)


def item_gradients(items: Array, rated: Array, values: Array, ridge: float, radius: float) -> Array:
    """Where each person wants the items to be moved, flattened, and shortened to ``radius``: the error of each rating times (1, taste).

    >>> items = np.zeros((2, 2))
    >>> item_gradients(items, np.array([[True, False]]), np.array([[-0.5, 0.0]]), ridge=1.0, radius=1.0).tolist()
    [[-0.25, -0.0, 0.0, 0.0]]
    """
    own = own_factors(items, rated, values, ridge)
    errors = np.where(rated, values - predictions(items, own), 0.0)
    directions = np.concatenate([np.ones((len(own), 1)), own[:, 1:]], axis=1)
    return shortened((errors[:, :, None] * directions[:, None, :]).reshape(len(own), -1), radius)
