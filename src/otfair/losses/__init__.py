"""Fairness penalties for any PyTorch loop."""

from otfair.losses._barycenter import BarycenterLoss
from otfair.losses._base import LOWEST_SCORE, Diagnostics, FairnessLoss, as_loss, loss_class
from otfair.losses._correlation import CorrelationLoss
from otfair.losses._norm import NormLoss
from otfair.losses._otf import OTFLoss, cloud
from otfair.losses._ranks import Share

# The penalties that classifiers know by name, in the order in which they are listed to users.
LOSSES: tuple[type[FairnessLoss], ...] = (OTFLoss, NormLoss, CorrelationLoss, BarycenterLoss)
