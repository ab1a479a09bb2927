"""What a loaded dataset is, and the facts and open choices about each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

if TYPE_CHECKING:
    from otfair.datasets._synthetic import Truth


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Dataset:
    """A table of people, ready for `TableEncoder` and for the fairness notions.

    Attributes
    ----------
    name
        As given to `load_dataset`.
    X
        Raw features, one row a person. Categories have the dtype ``category`` (or ``bool``),
        everything else is a number. The sensitive columns are not among them.
    y
        Labels, 0 or 1.
    sensitive_features
        The sensitive columns, row for row with `X`.
    description, licence, citation
        Texts about the data and about the choices made in loading it.
    truth
        What was put in, for ``"synthetic"``; None for real data, of which nobody knows it.

    Examples
    --------
    >>> from otfair import load_dataset
    >>> d = load_dataset("synthetic", n=500)
    >>> d
    Dataset('synthetic', 500 rows, 10 features, sensitive: sex, origin, age)
    >>> d.X.shape, d.y.shape, list(d.sensitive_features)
    ((500, 10), (500,), ['sex', 'origin', 'age'])
    """

    name: str
    X: pd.DataFrame
    y: NDArray[np.int64]
    sensitive_features: pd.DataFrame
    description: str
    licence: str
    citation: str
    truth: Truth | None = None

    def __repr__(self) -> str:
        rows, columns = self.X.shape
        sensitive = ", ".join(self.sensitive_features.columns)
        return f"Dataset({self.name!r}, {rows} rows, {columns} features, sensitive: {sensitive})"


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A choice that the paper leaves open: the option's name, our default, and the reason."""

    option: str
    default: bool
    reason: str


@dataclass(frozen=True, kw_only=True)
class Card:
    """Facts about a real dataset, and the choices made in loading it."""

    rows: int
    text: str
    licence: str
    citation: str
    choices: tuple[Choice, ...] = ()

    def resolve(self, name: str, options: dict[str, Any]) -> dict[str, bool]:
        """Every option with the value given for it, or its default; unknown ones are an error."""
        defaults = {choice.option: choice.default for choice in self.choices}
        for option, value in options.items():
            if option not in defaults:
                known = ", ".join(f"`{known}`" for known in defaults) or "none"
                raise TypeError(
                    f"Dataset {name!r} has no option `{option}`. Its options are: {known}."
                )
            if not isinstance(value, bool):
                raise TypeError(f"`{option}` must be True or False; received {value!r}.")
        return defaults | options

    def describe(self, values: dict[str, bool]) -> str:
        """Text about the data, with the choices as they were made."""
        made = [
            f"{c.option}={values[c.option]} (default {c.default}). {c.reason}" for c in self.choices
        ]
        return "\n\n".join([self.text, *made])


# All choices that the paper leaves open are made here and nowhere else.
CARDS: dict[str, Card] = {
    "adult": Card(
        rows=45222,
        text=(
            "Adult (census income, United States, 1994): does a person earn more than 50000 "
            "dollars a year? Test part, then training part, without the 3620 rows that have a "
            "missing value. Sensitive: sex, and race as White or Non-white. `fnlwgt` is a sampling "
            "weight of the census, not a trait of a person, and is left out."
        ),
        licence="CC BY 4.0",
        citation=(
            "Becker, B. and Kohavi, R. (1996). Adult. UCI Machine Learning Repository. "
            "doi:10.24432/C5XW20"
        ),
    ),
    "bank": Card(
        rows=41188,
        text=(
            "Bank Marketing (a Portuguese bank, 2008 to 2010): does a client who is called take up "
            "a term deposit? Every row is kept; `unknown` is a category of its own. Sensitive: "
            "age in years, and age_binned, split at its median of 38."
        ),
        licence="CC BY 4.0",
        citation=(
            "Moro, S., Rita, P. and Cortez, P. (2014). Bank Marketing. UCI Machine Learning "
            "Repository. doi:10.24432/C5K306"
        ),
        choices=(
            Choice(
                option="duration",
                default=True,
                reason=(
                    "The length of the call is known only once it is over, so a model for use must "
                    "do without it (`duration=False`). It is kept by default because published "
                    "results on this table include it, and this loader serves comparison first."
                ),
            ),
        ),
    ),
    "dutch": Card(
        rows=60420,
        text=(
            "Dutch census of 2001: does a person have a high-level (1) or a low-level (0) "
            "occupation? Reduced by Le Quy et al. to adults with one of the two. Sensitive: sex."
        ),
        licence=(
            "None stated with the file. IPUMS-International licenses its extracts to the "
            "individual user: check its terms before passing the file on."
        ),
        citation=(
            "Le Quy, T., Roy, A., Iosifidis, V., Zhang, W. and Ntoutsi, E. (2022). A survey on "
            "datasets for fairness-aware machine learning. WIREs Data Mining and Knowledge "
            "Discovery. doi:10.1002/widm.1452"
        ),
        choices=(
            Choice(
                option="ordered_as_numbers",
                default=False,
                reason=(
                    "Every column holds category codes. Eight have no order; age (five-year bands) "
                    "and edu_level have one, but no distance. All ten are categories by default, "
                    "as in the survey; `ordered_as_numbers=True` keeps those two as numbers."
                ),
            ),
        ),
    ),
    "diabetes": Card(
        rows=45715,
        text=(
            "Diabetes in 130 hospitals of the United States, 1999 to 2008: is a patient who comes "
            "back readmitted within 30 days (1) or later (0)? Without patients who did not come "
            "back, and without rows that miss race or a diagnosis. `None` in max_glu_serum and "
            "A1Cresult means that the test was not made: a value, not a gap. Identifiers and the "
            "mostly empty weight, payer_code and medical_specialty are left out. A patient can "
            "have several rows (27994 patients). Sensitive: gender."
        ),
        licence="CC BY 4.0",
        citation=(
            "Clore, J., Cios, K., DeShazo, J. and Strack, B. (2014). Diabetes 130-US Hospitals for "
            "Years 1999-2008. UCI Machine Learning Repository. doi:10.24432/C5230J"
        ),
        choices=(
            Choice(
                option="diagnoses",
                default=False,
                reason=(
                    "diag_1 to diag_3 hold 608, 614 and 653 codes, most of them rare. As "
                    "standardised dummies they would be 1875 of 2020 columns, and because a rare "
                    "dummy is large once standardised they would decide alone who is similar to "
                    "whom. They are left out by default; `diagnoses=True` keeps them."
                ),
            ),
            Choice(
                option="ids_as_numbers",
                default=False,
                reason=(
                    "admission_type_id, discharge_disposition_id and admission_source_id number "
                    "unrelated cases (1 emergency, 2 urgent, 6 not stated), so 1 is no nearer to 2 "
                    "than to 6. They are categories; `ids_as_numbers=True` keeps the bare numbers."
                ),
            ),
        ),
    ),
}
