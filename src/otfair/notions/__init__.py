"""Fairness notions: from sensitive features to linear constraints on scores."""

from otfair.notions._attributes import (
    Attribute,
    Strata,
    binary_labels,
    cross,
    number_types,
    read_group,
    refuse_single,
)
from otfair.notions._batches import Batch, Memory, as_encoded
from otfair.notions._constraints import Constraints, People, check_existence, type_people
from otfair.notions._notions import (
    ConditionalParity,
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    LinearNotion,
    Notion,
    PredictiveEquality,
    as_notion,
)

__all__ = [
    "Attribute",
    "Batch",
    "ConditionalParity",
    "Constraints",
    "DemographicParity",
    "EqualOpportunity",
    "EqualizedOdds",
    "LinearNotion",
    "Memory",
    "Notion",
    "People",
    "PredictiveEquality",
    "Strata",
    "as_encoded",
    "as_notion",
    "binary_labels",
    "check_existence",
    "cross",
    "number_types",
    "read_group",
    "refuse_single",
    "type_people",
]
