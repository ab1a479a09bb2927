"""An audit of people on Dask's workers: the steps that differ from those of one machine."""

from otfair.auditing._steps import Steps
from otfair.auditing.parted._costs import add_bound, cost_of_fairness
from otfair.auditing.parted._distances import PartedDistances
from otfair.auditing.parted._features import choose_columns, read_features
from otfair.auditing.parted._people import (
    KeptPeople,
    PartedNeighbourhood,
    curves,
    find_regions,
    keep_people,
)
from otfair.auditing.parted._reading import read_people
from otfair.metrics import draw_parted_counts

STEPS = Steps(
    read=read_people,
    choose_columns=choose_columns,
    read_features=read_features,
    distances=PartedDistances,
    neighbourhood=PartedNeighbourhood,
    draw_counts=lambda data, count, seed: draw_parted_counts(data.parts, count, seed),
    cost_of_fairness=cost_of_fairness,
    add_bound=add_bound,
    find_regions=find_regions,
    curves=curves,
    keep_people=keep_people,
    libraries=("dask",),
)
