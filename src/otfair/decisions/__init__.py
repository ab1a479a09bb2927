"""Fair decisions: rules that keep the rates of groups within limits, for new people too."""

from otfair.decisions._classifier import FairDecisions
from otfair.decisions._groups import Block
from otfair.decisions._report import GroupRate
from otfair.decisions._rows import Row
