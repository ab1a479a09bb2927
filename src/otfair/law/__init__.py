"""Tables that rules of law ask for: New York City's Local Law 144, and four fifths."""

from otfair.law._counts import UNKNOWN_WORDS
from otfair.law._four_fifths import four_fifths
from otfair.law._ll144 import ll144
from otfair.law._rules import Rule
from otfair.law._table import LawRecord, LawTable, Part, described
