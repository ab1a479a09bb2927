"""Audits: how unfair scores are, to whom, and what it would take, as tables, JSON and a page."""

from otfair.auditing._audit import Audit
from otfair.auditing._baseline import Figures, read_baseline
from otfair.auditing._changes import Change, Changes, compare_figures
from otfair.auditing._compared import Compared, Comparison, Move
from otfair.auditing._comparison import compare_audits
from otfair.auditing._favourable import guess_favourable
from otfair.auditing._features import NO_DISTANCES
from otfair.auditing._limits import Limit
from otfair.auditing._pipeline import audit
from otfair.auditing._reading import read_control
from otfair.auditing._results import (
    RATES,
    Alike,
    AlikeGroup,
    BoundedCost,
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
from otfair.auditing.report._answers import Answer, answers, favourable_sentence
from otfair.auditing.report._compared import comparison_sentences
from otfair.auditing.report._words import called, sort_statuses, status_sentence, why_free
from otfair.metrics import Estimate
