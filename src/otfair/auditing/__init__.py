"""Audits: how unfair scores are, to whom, and what it would take, as tables, JSON and a page."""

from otfair.auditing._audit import Audit
from otfair.auditing._features import NO_DISTANCES
from otfair.auditing._pipeline import audit
from otfair.auditing._reading import read_control
from otfair.auditing._results import (
    Alike,
    AlikeGroup,
    BoundedCost,
    Cost,
    Curve,
    Finding,
    Flow,
    Group,
    Pairs,
    Places,
    Record,
    Region,
    Violation,
)
from otfair.auditing.report._words import why_free
from otfair.metrics import Estimate
