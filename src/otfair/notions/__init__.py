"""Fairness notions: from sensitive features to linear constraints on scores."""

from otfair.notions._attributes import (
    Attribute,
    Strata,
    cross,
    number_types,
    read_group,
    refuse_single,
)
from otfair.notions._base import (
    GroupNotion,
    Notion,
    _Stack,
    as_encoded,
    as_notion,
    lay_out,
    named_kinds,
    split_columns,
)
from otfair.notions._batches import Memory
from otfair.notions._conditional_parity import ConditionalParity
from otfair.notions._constraints import Constraints, People
from otfair.notions._demographic_parity import DemographicParity
from otfair.notions._equalized_odds import EqualizedOdds, EqualOpportunity, PredictiveEquality
from otfair.notions._existence import check_existence
from otfair.notions._gaps import known_people, known_sensitive
from otfair.notions._linear import LinearNotion
from otfair.notions._parted import (
    PartedConstraints,
    PartedPeople,
    parted_people,
    read_scores,
    type_parts,
)
from otfair.notions._parts import Part, Weigh, attributes_of, check_weigh, parts_of
from otfair.notions._possible import possible_constraints
from otfair.notions._predictive_parity import PredictiveParity
from otfair.notions._rates import Rates
from otfair.notions._samples import stratified_sample
from otfair.notions._tally import Tally, join, represent, tally
from otfair.notions._types import type_people

# The notions that `as_notion` knows by name, in the order in which they are listed to users.
NOTIONS: tuple[type[GroupNotion], ...] = (
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    PredictiveEquality,
    ConditionalParity,
    PredictiveParity,
)
# Those that are data alone, so that a file can hold them, by what it calls them.
STORED_NOTIONS: dict[str, type] = {kind.__name__: kind for kind in NOTIONS} | {"Stack": _Stack}
