"""Who is like whom: costs between people, and distances to types of people."""

from otfair.geometry import costs
from otfair.geometry._cost_matrix import CostMatrix
from otfair.geometry._distances import NearestDistances, SoftDistances, TypedColumns
from otfair.geometry._geometry import Geometry, Scale
from otfair.geometry._near import NearPlaces
from otfair.geometry._parted import (
    Drawn,
    PartedCloud,
    PartedDistances,
    Receivers,
    local_distances,
)
from otfair.geometry._point_cloud import PointCloud
from otfair.geometry.costs import Cost, CostFunction
