"""What changed between two audits, against published intervals, hand computation and chance."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import otfair
from otfair.auditing._baseline import Key, read_baseline
from otfair.auditing._changes import Change, _change, change_sentence, holm
from otfair.metrics import Estimate

approx = pytest.approx


def people(n: int, seed: int, more: float = 0.0) -> pd.DataFrame:
    """Two groups, of which b has scores that are lower by `more`."""
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b"], n)
    h = np.clip(rng.normal(0.55, 0.2, n) - (0.05 + more) * (group == "b"), 0.01, 0.99)
    return pd.DataFrame({"h": h, "g": group, "y": (rng.random(n) < h).astype(int)})


def audited(frame: pd.DataFrame, **options) -> otfair.Audit:
    return otfair.audit(
        frame.h, sensitive_features=frame[["g"]], labels=frame.y, **{"n_bootstrap": 100} | options
    )


def wilson(k: int, n: int) -> Estimate:
    z, p = norm.ppf(0.975), k / n
    centre, reach = p + z**2 / (2 * n), z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return Estimate(p, (centre - reach) / (1 + z**2 / n), (centre + reach) / (1 + z**2 / n))


@pytest.mark.parametrize(
    ("after", "before", "low", "high"),  # Newcombe (1998), table II, method 10
    [
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((5, 56), (0, 29), -0.0381, 0.1926),
        ((0, 10), (0, 10), -0.2775, 0.2775),
        ((10, 10), (0, 10), 0.6075, 1.0),
    ],
)
def test_intervals_of_rates_are_those_of_newcombe(after, before, low, high):
    _, difference, p = _change(Key("g", "a", "selection_rate"), wilson(*before), wilson(*after))
    assert (difference.low, difference.high) == approx((low, high), abs=6e-5)
    # The interval leaves 0 out where the p-value is below 5 %, and only there.
    assert (p < 0.05) == (low > 0)


@pytest.mark.parametrize("figure", ["selection_rate", "violation"])
def test_even_intervals_give_the_test_of_two_means(figure):
    half = norm.ppf(0.975) * np.array([0.02, 0.015])
    before, after = (Estimate(v, v - h, v + h) for v, h in zip((0.3, 0.36), half))
    _, difference, p = _change(Key("g", "a", figure), before, after)
    error = np.hypot(0.02, 0.015)
    assert p == approx(2 * norm.sf(0.06 / error))
    ends = norm.interval(0.95, 0.06, error)
    assert (difference.value, difference.low, difference.high) == approx((0.06, *ends))


def test_what_has_no_width_and_no_change():
    one, two = Estimate(0.5, 0.5, 0.5), Estimate(0.6, 0.6, 0.6)
    assert _change(Key("g", "a", "x"), one, one)[2] == 1
    assert _change(Key("g", "a", "x"), one, two)[2] == 0
    unknown = Estimate(0.6, float("nan"), float("nan"))
    assert _change(Key("g", "a", "x"), one, unknown)[2] == 1


def test_holm_by_hand():
    # In order: 4 x .005, 3 x .01, 2 x .03, and .04, which may not be less than the one before.
    assert holm(np.array([0.01, 0.04, 0.03, 0.005])) == approx([0.03, 0.06, 0.06, 0.02])
    assert holm(np.array([0.6, 0.7])) == approx([1, 1])
    assert len(holm(np.array([]))) == 0


@pytest.fixture(scope="module")
def two() -> tuple[otfair.Audit, otfair.Audit]:
    return audited(people(3000, 0)), audited(people(3000, 1, more=0.1))


def test_what_got_worse_is_found_and_what_did_not_change_is_not(two):
    old, new = two
    changes = new.changes(old)
    assert {c.figure for c in changes.worse} == {"decision gap", "score gap", "violation"}
    rows = {(row["group"], row["figure"]): row for _, row in changes.to_frame().iterrows()}
    assert rows["g=b", "selection_rate"]["beyond"]
    assert not rows["g=a", "selection_rate"]["beyond"]
    assert not rows["g=a", "mean score"]["beyond"]
    rates = {g.group: g.rates["selection_rate"] for g in new.decisions[0].groups}
    row = rows["g=b", "selection_rate"]
    assert row["after"] == rates["g=b"].value
    assert row["difference"] == approx(row["after"] - row["before"])
    # The other way round it is better, which is a change but not a worse one.
    back = old.changes(new)
    assert back.worse == ()
    assert len(back.beyond) == len(changes.beyond)
    said = " ".join(changes.sentences())
    assert "g=b, selection rate fell from 0." in said
    assert "g, equalized odds violation rose from 0." in said
    assert "No unfairness grew" not in said
    assert "No unfairness grew beyond chance." in back.sentences()
    # The complement of another rate is not counted twice.
    assert "false_negative_rate" not in set(changes.to_frame()["figure"])


def test_a_file_says_the_same_and_is_told_in_page_and_json(two, tmp_path):
    old, new = two
    old.to_json(tmp_path / "old.json")
    changes = new.changes(tmp_path / "old.json")
    assert changes == new.changes(old)
    told = dataclasses.replace(new, changed=changes)
    data = json.loads(told.to_json())["changes"]
    assert data["sentences"] == changes.sentences()
    assert len(data["changes"]) == len(changes.changes)
    assert '<section id="changed">' in told.to_html()
    assert '<section id="changed">' not in new.to_html()


def test_groups_and_settings_that_differ_are_told():
    old = people(900, 0)
    old["g"] = np.where(np.arange(900) % 5 == 0, "c", old["g"])
    new = people(900, 1)
    new["g"] = np.where(np.arange(900) % 40 == 0, "d", new["g"])
    changes = audited(new, threshold=0.4, min_people=31, favourable=0).changes(
        audited(old, favourable=1)
    )
    assert (changes.gone, changes.new) == (("g=c",), ("g=d",))
    assert changes.settings["threshold"] == (0.5, 0.4)
    assert changes.settings["min_people"] == (30, 31)
    said = changes.sentences()
    assert "Settings differ: the threshold was 0.5, and is 0.4." in said
    assert "Groups only in the baseline: g=c." in said
    assert "Groups only in this audit: g=d." in said
    # The gap is of other decisions, which are not compared.
    assert "decision gap" not in {c.figure for c in changes.changes}


def test_groups_too_small_are_not_compared():
    few = people(400, 0)
    few.loc[:9, "g"] = "c"
    changes = audited(few).changes(audited(few))
    assert "g=c" not in {c.group for c in changes.changes}
    assert changes.uncompared > 0
    assert changes.same_data
    assert "Both audits are of the same data" in " ".join(changes.sentences())
    assert changes.beyond == ()


def test_without_resamples_chance_is_not_known(two):
    bare = audited(people(300, 0), n_bootstrap=0)
    with pytest.raises(ValueError, match=r"the baseline has no intervals.*--bootstrap"):
        two[0].changes(bare)
    with pytest.raises(ValueError, match="the audit has no intervals"):
        bare.changes(two[0])


@pytest.mark.slow
def test_an_attribute_of_numbers_has_a_violation():
    rng = np.random.default_rng(0)
    audits = []
    for slope in (0.0, 0.3):
        age = rng.uniform(20, 60, 800)
        h = np.clip(0.5 + slope * (age - 40) / 40 + rng.normal(0, 0.1, 800), 0, 1)
        audits.append(otfair.audit(h, sensitive_features=pd.DataFrame({"age": age})))
    (worse,) = [c for c in audits[1].changes(audits[0]).worse if c.figure == "violation"]
    assert worse.attribute == "age"


@pytest.mark.slow
def test_chance_alone_is_seldom_taken_for_a_change():
    # 30 pairs of audits of the same population, each with two families at 5 %.
    found = [audited(people(500, seed)) for seed in range(100, 160)]
    pairs = [new.changes(old) for old, new in zip(found[::2], found[1::2])]
    assert sum(bool(changes.worse) for changes in pairs) <= 2
    assert sum(bool(changes.beyond) for changes in pairs) <= 6


def spoiled(data, *path, value):
    inner = data
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value


RATE = ("decisions", 0, "groups", 0, "rates", "selection_rate")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("decisions",), {}),
        (("decisions",), [1]),
        (("decisions", 0, "attribute"), 3),
        (("decisions", 0, "attribute"), "x" * 20_000),
        (("decisions", 0, "groups"), None),
        (("decisions", 0, "groups", 0, "rates"), []),
        (("decisions", 0, "gap"), 0.5),
        (RATE, None),
        ((*RATE, "value"), "0.5"),
        ((*RATE, "value"), True),
        ((*RATE, "value"), 10**400),
        ((*RATE, "value"), 7.0),
        ((*RATE, "low"), None),
        (("findings", 0, "violation", "value"), []),
        (("findings", 0, "notion"), None),
        (("record",), []),
        (("record", "settings"), None),
        (("record", "settings", "threshold"), {"a": 1}),
        (("record", "checksum"), 1),
    ],
)
def test_a_damaged_baseline_is_refused_in_one_line(two, tmp_path, path, value):
    data = json.loads(two[0].to_json())
    spoiled(data, *path, value=value)
    file = tmp_path / "old.json"
    file.write_text(json.dumps(data))
    with pytest.raises(ValueError, match="not as an audit writes it") as error:
        read_baseline(file)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 600


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "no JSON of an audit"),
        ("[" * 100_000, "no JSON of an audit"),
        ("[]", "no JSON of an audit"),
        ('{"findings": NaN, "record": {}}', "NaN"),
        ('{"findings": [], "record": {}}', "written by an earlier version of otfair. Audit the"),
        ('{"findings": [], "record": {}, "decisions": [], "format": 2}', "format 2"),
        ('{"findings": [], "record": {}, "decisions": [], "format": 1}', "it lacks 'settings'"),
        ("1" * 5000, "no JSON of an audit"),
        ("\udcff", "no JSON of an audit"),
    ],
)
def test_what_is_no_audit_is_refused(tmp_path, text, part):
    file = tmp_path / "x.json"
    file.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ValueError, match=f"baseline .*{part}") as error:
        read_baseline(file)
    assert "\n" not in str(error.value)


def test_a_baseline_that_is_not_there(tmp_path):
    with pytest.raises(ValueError, match="can't be read"):
        read_baseline(tmp_path / "nope.json")


def test_names_of_attributes_are_left_as_they_are():
    figure = Estimate(0.5, 0.4, 0.6)
    change = Change(
        attribute="age_band", group="age_band=20_30", figure="selection_rate", notion="",
        before=figure, after=figure, difference=Estimate(0.0, -0.1, 0.1), p_value=1.0, beyond=False,
    )  # fmt: skip
    assert change_sentence(change).startswith("age_band=20_30, selection rate stayed from 0.500")
