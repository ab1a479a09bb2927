"""The whole trade-off between fairness and predictive power, as a table and a picture."""

from otfair.tradeoff._curve import tradeoff_curve
from otfair.tradeoff._judge import METRICS
from otfair.tradeoff._picture import UNFAIRNESS, part_labels, plot_tradeoff

__all__ = ["METRICS", "UNFAIRNESS", "part_labels", "plot_tradeoff", "tradeoff_curve"]
