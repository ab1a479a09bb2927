"""The public names, imported on first use: `otfair.__init__` reads this file."""

from . import (
    auditing as auditing,
    cli as cli,
    datasets as datasets,
    decisions as decisions,
    geometry as geometry,
    law as law,
    losses as losses,
    metrics as metrics,
    models as models,
    notions as notions,
    reproduction as reproduction,
    saving as saving,
    tables as tables,
    tradeoff as tradeoff,
    transport as transport,
)
from .auditing import Audit as Audit, audit as audit, compare_audits as compare_audits
from .datasets import (
    Dataset as Dataset,
    DatasetError as DatasetError,
    download_dataset as download_dataset,
    list_datasets as list_datasets,
    load_dataset as load_dataset,
    locate_dataset as locate_dataset,
    make_synthetic as make_synthetic,
    verify_dataset as verify_dataset,
)
from .decisions import FairDecisions as FairDecisions
from .geometry import CostMatrix as CostMatrix, Geometry as Geometry, PointCloud as PointCloud
from .law import LawTable as LawTable, four_fifths as four_fifths, ll144 as ll144
from .losses import (
    BarycenterLoss as BarycenterLoss,
    CorrelationLoss as CorrelationLoss,
    NormLoss as NormLoss,
    OTFLoss as OTFLoss,
)
from .metrics import (
    FairnessScorer as FairnessScorer,
    LimitWarning as LimitWarning,
    demographic_parity_difference as demographic_parity_difference,
    demographic_parity_difference_scorer as demographic_parity_difference_scorer,
    equalized_odds_difference as equalized_odds_difference,
    equalized_odds_difference_scorer as equalized_odds_difference_scorer,
    false_omission_difference as false_omission_difference,
    make_fair_scorer as make_fair_scorer,
    mean_score_difference as mean_score_difference,
    neighbour_gap as neighbour_gap,
    neighbour_gap_by_group as neighbour_gap_by_group,
    pdp_scorer as pdp_scorer,
    pdp_violation as pdp_violation,
    peo_scorer as peo_scorer,
    peo_violation as peo_violation,
    predictive_parity_difference as predictive_parity_difference,
    predictive_parity_difference_scorer as predictive_parity_difference_scorer,
    predictive_parity_scorer as predictive_parity_scorer,
    predictive_parity_violation as predictive_parity_violation,
)
from .models import (
    BoosterMetric as BoosterMetric,
    OTFBoostingClassifier as OTFBoostingClassifier,
    OTFClassifier as OTFClassifier,
    OTFObjective as OTFObjective,
    ScoreColumn as ScoreColumn,
)
from .notions import (
    ConditionalParity as ConditionalParity,
    Constraints as Constraints,
    DemographicParity as DemographicParity,
    EqualizedOdds as EqualizedOdds,
    EqualOpportunity as EqualOpportunity,
    LinearNotion as LinearNotion,
    Notion as Notion,
    People as People,
    PredictiveEquality as PredictiveEquality,
    PredictiveParity as PredictiveParity,
    as_notion as as_notion,
)
from .saving import load_model as load_model, save_model as save_model
from .tables import TableEncoder as TableEncoder
from .tradeoff import plot_tradeoff as plot_tradeoff, tradeoff_curve as tradeoff_curve
from .transport import (
    AdjustedTransport as AdjustedTransport,
    Coordinate as Coordinate,
    Flows as Flows,
    Newton as Newton,
    Status as Status,
    Transport as Transport,
    TransportError as TransportError,
    adjusted_otf as adjusted_otf,
    exact_otf as exact_otf,
    relaxed_otf as relaxed_otf,
    smooth_otf as smooth_otf,
)

__version__: str
__all__: list[str]
