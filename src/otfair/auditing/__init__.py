"""Audits: how unfair scores are, to whom, and what it would take, as tables, JSON and a page."""

from otfair.auditing._audit import Audit
from otfair.auditing._pipeline import audit
from otfair.auditing._results import (
    Cost,
    Curve,
    Estimate,
    Finding,
    Flow,
    Group,
    Pairs,
    Record,
    Region,
    Violation,
)

__all__ = [
    "Audit",
    "Cost",
    "Curve",
    "Estimate",
    "Finding",
    "Flow",
    "Group",
    "Pairs",
    "Record",
    "Region",
    "Violation",
    "audit",
]
