"""The public names, imported together on first use of any: see `otfair.__init__`."""

from otfair.auditing import Audit, audit
from otfair.barycenter import BarycenterLoss
from otfair.boosting import BoosterMetric, OTFObjective
from otfair.boosting_classifier import OTFBoostingClassifier
from otfair.classifier import OTFClassifier
from otfair.constraints import Constraints, People
from otfair.coordinate import Coordinate
from otfair.datasets import (
    Dataset,
    DatasetError,
    download_dataset,
    list_datasets,
    load_dataset,
    locate_dataset,
    make_synthetic,
    verify_dataset,
)
from otfair.encoder import TableEncoder
from otfair.geometry import CostMatrix, Geometry, PointCloud
from otfair.losses import NormLoss, OTFLoss
from otfair.metrics import (
    demographic_parity_difference,
    equalized_odds_difference,
    pdp_violation,
    peo_violation,
)
from otfair.newton import Newton
from otfair.notions import (
    ConditionalParity,
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    LinearNotion,
    Notion,
    PredictiveEquality,
    as_notion,
)
from otfair.otf import adjusted_otf, exact_otf, relaxed_otf, smooth_otf
from otfair.saving import load_model, save_model
from otfair.scorers import (
    FairnessScorer,
    demographic_parity_difference_scorer,
    equalized_odds_difference_scorer,
    make_fair_scorer,
    pdp_scorer,
    peo_scorer,
)
from otfair.status import Status, TransportError
from otfair.tradeoff import plot_tradeoff, tradeoff_curve
from otfair.transport import AdjustedTransport, Flows, Transport

__all__ = [
    "AdjustedTransport",
    "Audit",
    "BarycenterLoss",
    "BoosterMetric",
    "ConditionalParity",
    "Constraints",
    "Coordinate",
    "CostMatrix",
    "Dataset",
    "DatasetError",
    "DemographicParity",
    "EqualOpportunity",
    "EqualizedOdds",
    "FairnessScorer",
    "Flows",
    "Geometry",
    "LinearNotion",
    "Newton",
    "NormLoss",
    "Notion",
    "OTFBoostingClassifier",
    "OTFClassifier",
    "OTFLoss",
    "OTFObjective",
    "People",
    "PointCloud",
    "PredictiveEquality",
    "Status",
    "TableEncoder",
    "Transport",
    "TransportError",
    "adjusted_otf",
    "as_notion",
    "audit",
    "demographic_parity_difference",
    "demographic_parity_difference_scorer",
    "download_dataset",
    "equalized_odds_difference",
    "equalized_odds_difference_scorer",
    "exact_otf",
    "list_datasets",
    "load_dataset",
    "load_model",
    "locate_dataset",
    "make_fair_scorer",
    "make_synthetic",
    "pdp_scorer",
    "pdp_violation",
    "peo_scorer",
    "peo_violation",
    "plot_tradeoff",
    "relaxed_otf",
    "save_model",
    "smooth_otf",
    "tradeoff_curve",
    "verify_dataset",
]
