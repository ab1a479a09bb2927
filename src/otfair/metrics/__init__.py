"""How unfair scores and decisions are."""

from otfair.metrics._bootstrap import (
    ENDS,
    Estimate,
    by_cell,
    draw_counts,
    draw_rows,
    estimate,
    resample,
)
from otfair.metrics._choice import CRITERIA, criterion_of, title_of
from otfair.metrics._criteria import Bound, Criterion, MeanDifferenceOf, ViolationOf
from otfair.metrics._differences import (
    DifferenceOf,
    demographic_parity_difference,
    equalized_odds_difference,
    false_omission_difference,
    predictive_parity_difference,
    read_groups,
)
from otfair.metrics._limits import LimitWarning, people_needed
from otfair.metrics._neighbours import (
    Crowd,
    Gaps,
    find_gaps,
    neighbour_gap,
    neighbour_gap_by_group,
)
from otfair.metrics._parted_bootstrap import draw_parted_counts
from otfair.metrics._precision import PrecisionDifferenceOf
from otfair.metrics._rates import NORMAL, Rate, Spread, group_rates, spread_of
from otfair.metrics._scorers import (
    FairnessScorer,
    demographic_parity_difference_scorer,
    equalized_odds_difference_scorer,
    make_fair_scorer,
    pdp_scorer,
    peo_scorer,
    predictive_parity_difference_scorer,
    predictive_parity_scorer,
)
from otfair.metrics._violations import (
    mean_score_difference,
    pdp_violation,
    peo_violation,
    predictive_parity_violation,
    violation,
)
