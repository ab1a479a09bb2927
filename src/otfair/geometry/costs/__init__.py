"""What a difference between people's features costs: one class per cost.

A new cost is a subclass of `Cost` in a file of its own, imported and listed here.
"""

from otfair.geometry.costs._cityblock import CityBlock
from otfair.geometry.costs._cosine import Cosine
from otfair.geometry.costs._cost import Cost, Points
from otfair.geometry.costs._euclidean import Euclidean
from otfair.geometry.costs._function import CostFunction, FunctionCost
from otfair.geometry.costs._mahalanobis import Mahalanobis
from otfair.geometry.costs._sqeuclidean import SquaredEuclidean

# Those that can be asked for by name.
COSTS: tuple[type[Cost], ...] = (Euclidean, SquaredEuclidean, CityBlock, Cosine, Mahalanobis)


def as_cost(cost: str | CostFunction | Cost) -> Cost:
    """Return a cost given by its name, as a function or as an instance."""
    if isinstance(cost, Cost):
        return cost
    if callable(cost):
        return FunctionCost(cost)
    for known in COSTS:
        if known.name == cost:
            return known()
    names = ", ".join(known.name for known in COSTS)
    raise ValueError(f"unknown cost {cost!r}; pass one of {names}, or a function.")
