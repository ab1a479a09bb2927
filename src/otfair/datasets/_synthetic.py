"""A loan table made up on purpose, so that the unfairness in it is known.

Every random number is a uniform draw of PCG64, turned into what is needed by plain arithmetic:
NumPy keeps that stream, while its normal or Poisson draws may change from version to version.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, ndtr, ndtri

from otfair._io.settings import check_real
from otfair.datasets._dataset import Dataset, Floats, Truth
from otfair.datasets._source import Source

ATTRIBUTES = ("sex", "origin", "age")
ORIGINS = ("Local", "Regional", "Abroad")
ORIGIN_ADVANTAGE = (1.0, 0.5, 0.0)
YOUNGEST, OLDEST, AGE_POWER = 21.0, 70.0, 1.3  # age = youngest + (oldest - youngest) u^power
INTERCEPT = -0.35
# Effect of each value on the logit, in the order of the latent variable, and the share of people.
EFFECTS = {
    "education": {"primary": -0.5, "secondary": -0.1, "bachelor": 0.2, "master": 0.5},
    "purpose": {"business": -0.4, "car": 0.1, "education": 0.0, "home": 0.3},
    "sector": {"care": -0.8, "retail": -0.4, "public": 0.0, "industry": 0.4, "technology": 0.8},
    "area": {"harbour": -0.8, "old town": -0.3, "park side": 0.3, "hillside": 0.8},
}
SHARES = {
    "education": (0.15, 0.4, 0.3, 0.15),
    "purpose": (0.2, 0.35, 0.15, 0.3),
    "sector": (0.2, 0.2, 0.2, 0.2, 0.2),
    "area": (0.25, 0.25, 0.25, 0.25),
}
LATE_PAYMENTS = (0.55, 0.25, 0.12, 0.05, 0.02, 0.01)  # probability of 0, 1, 2, ... late payments


def make_synthetic(
    n: int = 4000,
    *,
    female_share: float = 0.4,
    origin_shares: Sequence[float] = (0.7, 0.2, 0.1),
    direct_bias: float | Mapping[str, float] = 1.0,
    proxy_bias: float | Mapping[str, float] = 1.0,
    label_noise: float = 0.0,
    seed: int = 0,
) -> Dataset:
    """Generate a table of loan applicants with a known amount of unfairness.

    The label "is granted the loan" is drawn with probability ::

        h = ν + (1 - 2ν) sigmoid(m(x) + Σ_a β_a v_a(s_a))

    where m is the merit of the features, v_a the advantage of a person by sex, origin or age, with
    mean zero, β_a the direct bias and ν the label noise. Three features are proxies: sector for
    sex, area for origin, credit history for age. The latent normal variable behind each is moved
    by π_a v_a(s_a), with π_a the proxy bias. All other features are independent of the sensitive
    attributes, and without bias so are the proxies: the true scores are then fair under every
    notion, but for chance.

    Parameters
    ----------
    n : int, default=4000
        Number of people.
    female_share : float, default=0.4
        Share of women; the others are men, who have the advantage.
    origin_shares : sequence of float, default=(0.7, 0.2, 0.1)
        Shares of the origins Local, Regional and Abroad, in the order of their advantage.
    direct_bias : float or mapping of str to float, default=1.0
        Logits between women and men with the same features, between Abroad and Local (Regional is
        half-way), and between one standard deviation below and one above the mean age. One number
        for all, or a mapping such as ``{"age": 0.5}``; attributes left out of it have no bias.
    proxy_bias : float or mapping of str to float, default=1.0
        Standard deviations by which the latent variable of the proxy is moved between those. A
        number or a mapping, as for `direct_bias`.
    label_noise : float, default=0.0
        Probability, below 0.5, that a label is flipped after it was drawn.
    seed : int, default=0
        The same seed gives the same people; a larger `n` adds people after them.

    Returns
    -------
    Dataset
        With `Dataset.truth` set to a `Truth`.

    Examples
    --------
    >>> from otfair import make_synthetic
    >>> d = make_synthetic(n=2000, direct_bias={"sex": 1.0}, proxy_bias={"sex": 1.0})
    >>> d.X.loc[0, ["sector", "late_payments", "has_guarantor"]].to_dict()
    {'sector': 'care', 'late_payments': 3, 'has_guarantor': False}
    >>> d.truth.unfairness.loc["sex=Male", ["gap", "chance", "proxy", "direct"]].round(2).to_dict()
    {'gap': 0.23, 'chance': -0.02, 'proxy': 0.09, 'direct': 0.16}
    """
    n, seed = _whole(n, "n", 1), _whole(seed, "seed", 0)
    female_share = check_real("female_share", female_share, 0, 1, "()")
    shares = np.asarray(origin_shares, dtype=float)
    if shares.shape != (3,) or (shares <= 0).any() or abs(shares.sum() - 1) > 1e-9:
        raise ValueError(
            "`origin_shares` must be three positive numbers that sum to 1, for "
            f"{', '.join(ORIGINS)}; got {origin_shares}."
        )
    label_noise = check_real("label_noise", label_noise, 0, 0.5, "[)")
    direct, proxy = _strengths(direct_bias, "direct_bias"), _strengths(proxy_bias, "proxy_bias")

    # One row of draws per person, so that more people do not change those before them.
    draws = np.random.Generator(np.random.PCG64(seed)).random((n, 14)).T  # (14, n)
    draws = np.maximum(draws, 2.0**-54)  # a zero, however unlikely, would be an infinite normal
    sensitive, advantage = _people(draws[:3], female_share, shares)
    X = _features(draws[3:13], proxy[:, None] * advantage)
    X_without_bias = _features(draws[3:13], np.zeros_like(advantage))

    def probability(logit: Floats) -> Floats:
        return np.asarray(label_noise + (1 - 2 * label_noise) * expit(logit))

    luck, merit = draws[13], _merit(X)
    scores = probability(merit + direct @ advantage)
    unbiased_scores = probability(_merit(X_without_bias))
    return Dataset(
        name="synthetic",
        X=X,
        y=(luck < scores).astype(np.int64),
        sensitive_features=sensitive,
        description=(
            "Synthetic loan applications: is a person granted the loan? Made with direct bias "
            f"{_listing(direct)}, proxy bias {_listing(proxy)}, label noise {label_noise:g}, seed "
            f"{seed}. Sensitive: sex, origin and age. The unfairness put in is in `truth`."
        ),
        licence="CC0 1.0",
        citation="Generated by otfair.make_synthetic; no real person is described.",
        truth=Truth(
            scores=scores,
            unbiased_scores=unbiased_scores,
            unbiased_labels=(luck < unbiased_scores).astype(np.int64),
            unfairness=_unfairness(sensitive, scores, probability(merit), unbiased_scores),
        ),
    )


def _people(draws: Floats, female_share: float, shares: Floats) -> tuple[pd.DataFrame, Floats]:
    """Sensitive attributes, and the advantage (3, n) that each gives, with population mean zero."""
    female = draws[0] < female_share
    origin = _bins(draws[1], shares)
    age = np.round(YOUNGEST + (OLDEST - YOUNGEST) * draws[2] ** AGE_POWER, 1)
    # Moments of u^p for uniform u: 1 / (p + 1) and 1 / (2 p + 1).
    mean = 1 / (AGE_POWER + 1)
    std = (1 / (2 * AGE_POWER + 1) - mean**2) ** 0.5
    standard_age = ((age - YOUNGEST) / (OLDEST - YOUNGEST) - mean) / std
    by_origin = np.asarray(ORIGIN_ADVANTAGE)
    advantage = np.stack(
        [
            ~female - (1 - female_share),
            by_origin[origin] - by_origin @ shares,
            standard_age / 2,  # 1 between one standard deviation below and one above the mean
        ]
    )
    table = {
        "sex": pd.Categorical(np.where(female, "Female", "Male"), ["Female", "Male"]),
        "origin": pd.Categorical.from_codes(origin, pd.Index(ORIGINS)),
        "age": age,
    }
    return pd.DataFrame(table), advantage


def _features(draws: Floats, shifts: Floats) -> pd.DataFrame:
    """Feature table; `shifts` (3, n) move the latent variables of sector, area, credit history."""
    sector, area = (ndtr(ndtri(u) + shift) for u, shift in zip(draws[:2], shifts[:2], strict=True))
    history = 9 + 4 * (ndtri(draws[2]) + shifts[2])
    return pd.DataFrame(
        {
            "income": _hundreds(10.4 + 0.4 * ndtri(draws[3])),
            "loan_amount": _hundreds(9.4 + 0.6 * ndtri(draws[4])),
            "debt_ratio": np.round(0.8 * draws[5] ** 1.5, 2),
            "late_payments": _bins(draws[6], LATE_PAYMENTS),
            "education": _category(draws[7], "education", ordered=True),
            "purpose": _category(draws[8], "purpose"),
            "has_guarantor": draws[9] < 0.25,
            "sector": _category(sector, "sector"),
            "area": _category(area, "area"),
            "credit_history_years": np.round(np.clip(history, 0, None), 1),
        }
    )


def _merit(X: pd.DataFrame) -> Floats:
    """Logit of the label by the features alone, computed from the table that the user sees."""
    logit: Floats = (
        INTERCEPT
        + 0.9 * (np.log(X["income"]) - 10.4) / 0.4
        - 0.3 * (np.log(X["loan_amount"]) - 9.4) / 0.6
        - 1.5 * (X["debt_ratio"] - 0.32)
        - 0.5 * X["late_payments"]
        + 0.5 * X["has_guarantor"]
        + 0.15 * (X["credit_history_years"] - 9)
    ).to_numpy(dtype=float)
    for column, effects in EFFECTS.items():
        logit = logit + np.asarray(list(effects.values()))[X[column].cat.codes.to_numpy()]
    return logit


def _unfairness(
    sensitive: pd.DataFrame, full: Floats, no_direct: Floats, none: Floats
) -> pd.DataFrame:
    """Table of `Truth.unfairness` from scores with all bias, without direct, without any."""
    columns = {
        f"{name}={group}": (sensitive[name] == group).to_numpy(dtype=float)
        for name in ("sex", "origin")
        for group in sensitive[name].cat.categories
    }
    columns["age"] = sensitive["age"].to_numpy()
    ones = np.ones_like(full)
    rows = {}
    for name, s in columns.items():
        if np.ptp(s) == 0:  # a group of none, or of all, has no gap
            continue
        # The slope on a 0/1 column is the difference of the two means.
        unit = s.std() if name == "age" else 1.0
        slopes = [_covariance(h, s, ones) / s.var() * unit for h in (full, no_direct, none)]
        rows[name] = {
            "gap": slopes[0],
            "chance": slopes[2],
            "proxy": slopes[1] - slopes[2],
            "direct": slopes[0] - slopes[1],
            "pdp": _correlation(full, s, ones),
            "peo": max(_correlation(full, s, full), _correlation(full, s, 1 - full)),
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def _covariance(a: Floats, b: Floats, weight: Floats) -> float:
    centred = a - np.average(a, weights=weight)
    return float(np.average(centred * (b - np.average(b, weights=weight)), weights=weight))


def _correlation(a: Floats, b: Floats, weight: Floats) -> float:
    """Absolute Pearson correlation of people counted `weight` times."""
    spread = _covariance(a, a, weight) * _covariance(b, b, weight)
    return abs(_covariance(a, b, weight)) / spread**0.5 if spread > 0 else 0.0


def _bins(uniform: Floats, shares: Sequence[float] | Floats) -> NDArray[np.int64]:
    """Index of the share that each number in (0, 1) falls into."""
    edges = np.cumsum(np.asarray(shares))[:-1]
    return np.searchsorted(edges, uniform, side="right").astype(np.int64)


def _hundreds(log_amount: Floats) -> NDArray[np.int64]:
    # At least one hundred: the merit takes logarithms.
    return 100 * np.maximum(np.rint(np.exp(log_amount) / 100), 1).astype(np.int64)


def _category(uniform: Floats, column: str, *, ordered: bool = False) -> pd.Series[Any]:
    codes, values = _bins(uniform, SHARES[column]), pd.Index(list(EFFECTS[column]))
    return pd.Series(pd.Categorical.from_codes(codes, values, ordered=ordered))


def _strengths(bias: float | Mapping[str, float], name: str) -> Floats:
    """One strength per attribute, in the order of `ATTRIBUTES`."""
    given = dict(bias) if isinstance(bias, Mapping) else dict.fromkeys(ATTRIBUTES, bias)
    unknown = [str(key) for key in given if key not in ATTRIBUTES]
    if unknown:
        raise ValueError(
            f"`{name}` names {', '.join(unknown)}; the attributes are {', '.join(ATTRIBUTES)}."
        )
    return np.array([check_real(name, given.get(a, 0.0), -100, 100) for a in ATTRIBUTES])


def _whole(value: Any, name: str, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"`{name}` must be a whole number; got {value!r}.") from None
    if number < least:
        raise ValueError(f"`{name}` must be at least {least}; got {number}.")
    return number


def _listing(strengths: Floats) -> str:
    return ", ".join(f"{a} {b:g}" for a, b in zip(ATTRIBUTES, strengths, strict=True))


class _Generated(Source):
    """A source without files, whose options are the parameters of its recipe."""

    def load(self, home: Path, *, download: bool, options: dict[str, Any]) -> Dataset:
        """Generate the table."""
        known = list(inspect.signature(make_synthetic).parameters)
        if unknown := [option for option in options if option not in known]:
            raise TypeError(
                f"Dataset {self.name!r} has no parameter `{unknown[0]}`. "
                f"Its parameters are: {', '.join(known)}."
            )
        return make_synthetic(**options)


SYNTHETIC = _Generated(
    name="synthetic",
    label="is granted a loan (made up)",
    sensitive=ATTRIBUTES,
    recipe=make_synthetic,
)
