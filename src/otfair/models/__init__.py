"""Classifiers that are trained to be fair."""

from otfair.models._base import FairClassifier
from otfair.models._booster_metric import BoosterMetric
from otfair.models._boosting_classifier import OTFBoostingClassifier
from otfair.models._classifier import OTFClassifier
from otfair.models._judging import Judgement
from otfair.models._objective import OTFObjective
from otfair.models._parted_curve import PartedJudge, split_rows
from otfair.models._receivers import Receiving, say_sample, with_receivers
from otfair.models._score_column import ScoreColumn
from otfair.models._trust import (
    UntrustedModelWarning,
    compare_losses,
    doubt_losses,
    doubt_spread,
)
from otfair.models._validation import encoded_columns
from otfair.models.boosters import BOOSTERS
