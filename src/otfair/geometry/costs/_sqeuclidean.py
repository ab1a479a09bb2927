"""The squared Euclidean distance."""

from otfair.geometry.costs._squares import SquaresCost


class SquaredEuclidean(SquaresCost):
    """Squared Euclidean distance between people's features."""

    name = "sqeuclidean"
    multiple = 1.0
