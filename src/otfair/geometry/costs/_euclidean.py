"""The Euclidean distance."""

from otfair.geometry.costs._squares import SquaresCost


class Euclidean(SquaresCost):
    """Euclidean distance between people's features."""

    name = "euclidean"
