"""Audits: how unfair scores are, to whom, and what it would take, as tables, JSON and a page."""

from otfair.auditing._audit import Audit
from otfair.auditing._features import NO_DISTANCES
from otfair.auditing._limits import Limit
from otfair.auditing._pipeline import audit
from otfair.auditing._reading import read_control
from otfair.auditing._results import (
    RATES,
    Alike,
    AlikeGroup,
    Cost,
    Curve,
    Decisions,
    Finding,
    Flow,
    Gap,
    Group,
    GroupDecisions,
    Pairs,
    Places,
    Record,
    Region,
    Status,
    Violation,
)
from otfair.auditing.report._words import status_sentence
from otfair.metrics import Estimate
