"""Which outcome is good for people, as far as its name tells."""

from __future__ import annotations

import re

# Beginnings of words that name what people want to happen to them, or not to.
GOOD = (
    "accept", "admit", "admiss", "approv", "award", "bonus", "earn", "eligib", "enrol", "funded",
    "good", "grant", "graduat", "hire", "hiring", "interview", "invit", "offer", "paid", "pass",
    "promot", "qualif", "repaid", "repay", "select", "shortlist", "succe", "survi",
)  # fmt: skip
ALONE = ("credit", "employ", "income", "loan")  # good, unless other words tell: "loan_default"
BAD = (
    "abus", "arrest", "bad", "charged", "churn", "convict", "crime", "death", "debt", "declin",
    "default", "delinq", "denial", "denied", "deny", "died", "disease", "dismiss", "dropout",
    "evict", "fail", "fired", "fraud", "late", "offend", "overdue", "readmi", "recid", "refus",
    "reject", "reoffend", "risk", "stroke", "suspect", "theft", "violen",
)  # fmt: skip
YES = {"1", "1.0", "true", "yes", "y", "t", "positive", "pos"}
NO = {"0", "0.0", "false", "no", "n", "f", "negative", "neg"}


def guess_favourable(outcome: str, score: str) -> int | None:
    """Return 1 where the positive outcome, or a high score, is good for people, and 0 where bad.

    `outcome` is such as "paid = yes", or "" without labels. None where names don't tell.
    """
    column, _, value = outcome.rpartition(" = ")
    value = value.strip().casefold()
    if value not in YES | NO and (told := _tells(value)) is not None:
        return told
    told = _tells(column)
    if told is not None and value in NO:
        return 1 - told
    if told is not None and value in YES:
        return told
    return None if outcome else _tells(score)


def _tells(text: str) -> int | None:
    """Return whether the words of a text are good, 1, or bad, 0; None where none or both are."""
    spaced = re.sub(r"([a-z])([A-Z])", r"\1 \2", text)
    words = re.findall(r"[^\W\d_]+", spaced.casefold())
    negated = any(word in ("no", "not", "non", "without") for word in words)
    good, bad, alone = (any(word.startswith(s) for word in words) for s in (GOOD, BAD, ALONE))
    good |= alone and not bad
    return None if good == bad else int(good) ^ negated
