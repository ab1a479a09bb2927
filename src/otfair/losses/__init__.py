"""Fairness penalties for any PyTorch loop."""

from otfair.losses._barycenter import BarycenterLoss
from otfair.losses._base import Diagnostics, FairnessLoss
from otfair.losses._otf import NormLoss, OTFLoss, cloud

__all__ = ["BarycenterLoss", "Diagnostics", "FairnessLoss", "NormLoss", "OTFLoss", "cloud"]
