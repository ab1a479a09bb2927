"""What is known about each rule: its name, what it is, and where it is written."""

from __future__ import annotations

from dataclasses import dataclass

NO_ADVICE = "These are tables and no verdict. They are no legal advice."
GERCHICK = (
    "On people of unknown category: Gerchick, Encarnación, Tanigawa-Lau, Armstrong, Gutiérrez and "
    "Metaxa, Auditing the Audits: Lessons for Algorithmic Accountability from Local Law 144's Bias "
    "Audits, FAccT 2025"
)
DEVIATIONS = (
    "Hazelwood School District v. United States, 433 U.S. 299 (1977), and Castaneda v. Partida, "
    "430 U.S. 482 (1977), on two or three standard deviations"
)


@dataclass(frozen=True)
class Rule:
    """A rule of law: facts about it."""

    name: str  #: Its name on the command line.
    title: str  #: Its name for people.
    about: str  #: What it is, and where it means something.
    sources: tuple[str, ...]  #: Where it is written.


LL144 = Rule(
    name="ll144",
    title="New York City Local Law 144: rates and impact ratios",
    about="The figures that the rules on automated employment decision tools ask of a bias audit. "
    "They concern hiring and promotion in New York City and mean nothing elsewhere. The rules name "
    "no ratio that passes. " + NO_ADVICE,
    sources=(
        "Rules of the City of New York, title 6, sections 5-300 to 5-304",
        "New York City Administrative Code, sections 20-870 to 20-874",
        GERCHICK,
    ),
)
FOUR_FIFTHS = Rule(
    name="four-fifths",
    title="Four fifths: a rule of thumb of US employment law",
    about="A rule of thumb of US employment law for hiring, promotion and the like, which means "
    "nothing elsewhere, such as for loans, benefits or outside the United States. A ratio below "
    "four fifths proves nothing, and one above it clears nobody: courts also look at how likely "
    "chance is, and at whether the selection is related to the job. " + NO_ADVICE,
    sources=(
        "29 CFR 1607.4 D (Uniform Guidelines on Employee Selection Procedures, 1978)",
        "29 CFR 1607.15 A (2) (a), on groups under 2 %",
        "42 U.S.C. 2000e-2 (k) (Title VII of the Civil Rights Act)",
        DEVIATIONS,
        GERCHICK,
    ),
)
