"""What fairness costs: distances, the cheapest plan, its pairs, and how sure its cost is."""

from otfair.auditing.costs._costs import cost_of_fairness
from otfair.auditing.costs._distances import Distances
from otfair.auditing.costs._solving import TOLL

__all__ = ["TOLL", "Distances", "cost_of_fairness"]
