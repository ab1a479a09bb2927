"""Who is like whom: costs between people, and distances to types of people."""

from otfair.geometry._distances import NearestDistances, SoftDistances
from otfair.geometry._geometry import CostFunction, CostMatrix, Geometry, PointCloud, Scale

__all__ = [
    "CostFunction",
    "CostMatrix",
    "Geometry",
    "NearestDistances",
    "PointCloud",
    "Scale",
    "SoftDistances",
]
