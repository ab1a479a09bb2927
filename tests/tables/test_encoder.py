"""The encoder: what it must do to each kind of column, for each kind of table."""

import datetime as dt
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import otfair
from otfair import OTFClassifier, TableEncoder


@parametrize_with_checks([TableEncoder()])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def mixed(frame):
    """The same table in each library, with every kind of column and gaps in most of them."""
    columns = {
        "number": [1.5, 2.0, None, 4.0],
        "whole": [3, 1, 2, 2],
        "text": ["b", None, "a", "b"],
        "flag": [True, False, True, True],
        "flag with gap": [True, None, False, True],
        "code": ["10", "9", "10", "9"],
        "constant": ["same"] * 4,
        "all missing": [None] * 4,
    }
    if frame == "pandas NA":
        return pd.DataFrame(columns, dtype=object).map(lambda v: pd.NA if v is None else v)
    if frame == "pyarrow dictionary":
        table = pa.table(columns)
        for name in ("text", "code", "constant"):
            encoded = table[name].dictionary_encode()
            table = table.set_column(table.column_names.index(name), name, encoded)
        return table
    if frame == "pandas":
        return pd.DataFrame(columns).astype({"code": "category"})
    if frame == "pandas nullable":
        return pd.DataFrame(columns).convert_dtypes()
    if frame == "pandas arrow":
        return pd.DataFrame(columns).convert_dtypes(dtype_backend="pyarrow")
    if frame == "pandas object":
        return pd.DataFrame(columns, dtype=object)
    if frame == "polars":
        return pl.DataFrame(columns).with_columns(pl.col("code").cast(pl.Categorical))
    if frame == "polars enum":
        return pl.DataFrame(columns).with_columns(pl.col("code").cast(pl.Enum(["9", "10", "11"])))
    return pa.table(columns)


FRAMES = [
    "pandas",
    "pandas nullable",
    "pandas arrow",
    "pandas object",
    "pandas NA",
    "polars",
    "polars enum",
    "pyarrow",
    "pyarrow dictionary",
]


@pytest.mark.parametrize("fitted", FRAMES)
@pytest.mark.parametrize("given_", FRAMES)
def test_every_library_gives_the_same_numbers(fitted, given_):
    expected = TableEncoder().fit(mixed("pandas")).transform(mixed("pandas"))
    encoder = TableEncoder().fit(mixed(fitted))
    found = encoder.transform(mixed(given_))
    assert type(found) is np.ndarray
    assert found.dtype == np.float64
    assert found.flags.c_contiguous
    np.testing.assert_array_equal(found, expected)
    assert encoder.get_feature_names_out().tolist() == [
        "number",
        "number is missing",
        "whole",
        "text=a",
        "text=b",
        "text is missing",
        "flag=False",
        "flag=True",
        "flag with gap=False",
        "flag with gap=True",
        "flag with gap is missing",
        "code=9",
        "code=10",
        "constant=same",
        "all missing is missing",
    ]


def test_every_column_is_standardised():
    table = mixed("pandas")
    encoded = TableEncoder().set_output(transform="pandas").fit_transform(table)
    np.testing.assert_allclose(encoded.mean(), 0, atol=1e-15)
    spread = encoded.std(ddof=0)
    constant = ["constant=same", "all missing is missing"]
    assert (encoded[constant] == 0).all(axis=None)
    np.testing.assert_allclose(spread.drop(constant), 1)


def test_agrees_with_scikit_learn_where_it_can_do_the_same():
    d = otfair.make_synthetic(n=500)
    categories = d.X.select_dtypes(["category", "bool"])
    numbers = d.X.drop(columns=categories.columns)
    dummies = OneHotEncoder(sparse_output=False).fit_transform(categories.astype(str))
    expected = StandardScaler().fit_transform(np.hstack([numbers, dummies]))
    found = TableEncoder().fit_transform(pd.concat([numbers, categories], axis=1))
    np.testing.assert_allclose(found, expected, atol=1e-12)


@given(
    rows=st.lists(
        st.tuples(
            st.one_of(st.none(), st.floats(-1e6, 1e6), st.integers(-5, 5).map(float)),
            st.one_of(st.none(), st.sampled_from("abc")),
        ),
        min_size=1,
        max_size=30,
    )
)
@settings(deadline=None, max_examples=200)
@pytest.mark.slow
def test_whatever_the_values(rows):
    # Finite, mean 0, variance 1 or 0; rows are encoded one by one as they are together; and pandas
    # and polars agree.
    numbers, texts = zip(*rows, strict=True)
    table = pl.DataFrame(
        {"x": pl.Series(numbers, dtype=pl.Float64), "c": pl.Series(texts, dtype=pl.String)}
    )
    encoder = TableEncoder().fit(table)
    encoded = encoder.transform(table)
    assert np.isfinite(encoded).all()
    np.testing.assert_allclose(encoded.mean(axis=0), 0, atol=1e-6)
    variance = encoded.var(axis=0)
    assert np.all(np.isclose(variance, 1, atol=1e-6) | (variance == 0))
    alone = np.vstack([encoder.transform(table[i]) for i in range(len(rows))])
    np.testing.assert_array_equal(alone, encoded)
    pandas = pd.DataFrame(
        {"x": pd.Series(numbers, dtype=float), "c": pd.Series(texts, dtype=object)}
    )
    np.testing.assert_array_equal(TableEncoder().fit_transform(pandas), encoded)


# What `fit` has not seen


def test_unknown_category_is_all_zero_before_standardisation():
    encoder = TableEncoder().fit(pd.DataFrame({"c": ["a"] * 3 + ["b"]}))
    # Shares 3/4 and 1/4: zero becomes -p / sqrt(p (1 - p)) = -sqrt(p / (1 - p)).
    expected = [[-np.sqrt(3), -np.sqrt(1 / 3)]]
    np.testing.assert_allclose(encoder.transform(pd.DataFrame({"c": ["new"]})), expected)
    # Nothing was missing in `fit`: a gap is just as unknown.
    np.testing.assert_allclose(encoder.transform(pd.DataFrame({"c": [None]})), expected)
    # So is a value that pandas has declared but no row had.
    declared = pd.DataFrame({"c": pd.Categorical(["z"], ["a", "b", "z"])})
    np.testing.assert_allclose(encoder.transform(declared), expected)


def test_unseen_gap_in_a_number_becomes_the_mean():
    encoder = TableEncoder().fit(pd.DataFrame({"x": [1.0, 2.0, 6.0]}))
    assert encoder.transform(pd.DataFrame({"x": [np.nan]})).tolist() == [[0.0]]


def test_gap_in_a_number_is_the_mean_and_told():
    table = pd.DataFrame({"x": [1.0, np.nan, 3.0]})
    encoded = TableEncoder().fit_transform(table)
    # Filled by 2, the column has variance 2/3; the indicator has share 1/3.
    np.testing.assert_allclose(encoded[:, 0], [-np.sqrt(1.5), 0, np.sqrt(1.5)])
    np.testing.assert_allclose(encoded[:, 1], [-np.sqrt(0.5), np.sqrt(2), -np.sqrt(0.5)])


@pytest.mark.parametrize("nothing", [None, np.nan])
def test_column_without_values_says_only_that(nothing):
    for table in (
        pd.DataFrame({"x": pd.Series([nothing] * 2, dtype=float)}),
        pl.DataFrame({"x": pl.Series([nothing] * 2, dtype=pl.Float64)}),
    ):
        encoder = TableEncoder().fit(table)
        assert encoder.get_feature_names_out().tolist() == ["x is missing"]
        assert encoder.transform(table).tolist() == [[0], [0]]
        assert encoder.transform(type(table)({"x": [1.0, 2.0]})).tolist() == [[-1], [-1]]


def test_constant_number_is_kept_and_shifted():
    encoder = TableEncoder().fit(pd.DataFrame({"x": [0.1] * 7}))
    assert (encoder.transform(pd.DataFrame({"x": [0.1] * 7})) == 0).all()
    np.testing.assert_allclose(encoder.transform(pd.DataFrame({"x": [2.1]})), [[2.0]])


def test_very_large_and_very_small_numbers():
    for size in (1e-300, 1e300):
        encoded = TableEncoder().fit_transform([[size], [3 * size]])
        np.testing.assert_allclose(encoded, [[-1], [1]])
    # The smallest number there is has no half: treated as a constant, and finite.
    assert np.isfinite(TableEncoder().fit_transform([[5e-324], [0.0]])).all()


@pytest.mark.parametrize(
    "gaps",
    [
        pd.Series([None, None], dtype=object),
        pd.Series([None, None], dtype="datetime64[ns]"),
        pl.Series([None, None]),
        pl.Series([None, None], dtype=pl.Date),
        pl.Series([None, None], dtype=pl.String),
    ],
)
def test_column_of_gaps_has_no_type(gaps):
    library = pd if isinstance(gaps, pd.Series) else pl
    encoder = TableEncoder().fit(pd.DataFrame({"x": [1, 3], "c": ["a", "b"]}))
    encoded = encoder.transform(library.DataFrame({"x": gaps, "c": gaps}))
    assert encoded.tolist() == [[0, -1, -1]] * 2


def test_a_table_that_memory_can_not_hold_is_refused(monkeypatch):
    table = pd.DataFrame({"few": list("abcde") * 4, "many": [f"v{i % 10}" for i in range(20)]})
    encoder = TableEncoder().fit(table)
    monkeypatch.setattr("otfair.tables._encoder.machine_memory", lambda: 8 * 20 * 15 - 1)
    with pytest.raises(ValueError, match=r"takes 2.34 KB .* 'many' alone becomes 10 columns"):
        encoder.transform(table)
    assert encoder.transform(table[:10]).shape == (10, 15)


def test_category_with_a_value_for_each_person_brings_a_warning():
    X = pd.DataFrame({"name": [f"person {i}" for i in range(1001)]})
    with pytest.warns(UserWarning, match=r"'name' has 1001 different values"):
        TableEncoder().fit(X)
    TableEncoder().fit(X.head(1000))


def test_category_of_numbers_survives_a_gap():
    # With a gap, pandas turns 1 into 1.0: it is still the code 1.
    encoder = TableEncoder().fit(pd.DataFrame({"c": pd.Categorical([1, 2, 1, 2])}))
    assert encoder.get_feature_names_out().tolist() == ["c=1", "c=2"]
    with_gap = pd.DataFrame({"c": [1.0, None]})
    np.testing.assert_allclose(encoder.transform(with_gap), [[1, -1], [-1, -1]])


# Errors


def test_wrong_columns_are_named():
    encoder = TableEncoder().fit(pd.DataFrame({"age": [1, 2], "job": ["a", "b"]}))
    for library in (pd, pl):
        with pytest.raises(ValueError) as caught:
            encoder.transform(library.DataFrame({"age": [1], "Job": ["a"], "city": ["x"]}))
        assert "unseen at fit time: Job, city." in str(caught.value)
        assert "now missing: job." in str(caught.value)
        with pytest.raises(ValueError, match="same order"):
            encoder.transform(library.DataFrame({"job": ["a"], "age": [1]}))


@pytest.mark.parametrize(
    ("table", "error", "said"),
    [
        (pd.DataFrame({"day": pd.to_datetime(["2020-01-01"])}), TypeError, "'day'.*Datetime"),
        (pd.DataFrame({"day": [dt.date(2020, 1, 1)]}), TypeError, "'day'.*type date,"),
        (pl.DataFrame({"day": [dt.date(2020, 1, 1)]}), TypeError, "'day'.*type Date,"),
        (np.array([[dt.datetime(2020, 1, 1)]]), TypeError, "'x0'.*[Dd]atetime"),
        (pd.DataFrame({"raw": [b"a", b"b"]}), TypeError, "'raw'.*type bytes,"),
        (pl.DataFrame({"day": [[1, 2]]}), TypeError, "'day'.*List"),
        (pd.DataFrame({"z": [1j]}), TypeError, "'z'"),
        (
            pd.DataFrame({"d": [{"a": 1}]}),
            TypeError,
            "'d': each value must be a string or a number",
        ),
        (pd.DataFrame({"x": [1.0, np.inf]}), ValueError, "'x' has infinite values"),
        (pl.DataFrame({"x": [1.0, np.inf]}), ValueError, "'x' has infinite values"),
        (pd.DataFrame({"x": [-1.7e308, 1.7e308]}), ValueError, "'x'.*numbers beyond"),
        (pl.LazyFrame({"x": [1.0]}), TypeError, "collect"),
        (pd.DataFrame({"a": [1], 2: [3]}), TypeError, "Column names must be text"),
        (pd.DataFrame({"a": []}), ValueError, "0 sample"),
        (pd.DataFrame(np.empty((0, 3))), ValueError, "0 sample"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), ValueError, "(?s)unique.*'a'"),
        (pl.DataFrame(), ValueError, "0 sample"),
    ],
)
def test_what_can_not_be_encoded_is_named(table, error, said):
    with pytest.raises(error, match=said):
        TableEncoder().fit(table)


def test_a_fit_that_fails_leaves_the_encoder_as_it_was():
    good, bad = pd.DataFrame({"age": [1, 2]}), pd.DataFrame({"x": [1, 2], "raw": [b"a", b"b"]})
    encoder = TableEncoder()
    with pytest.raises(TypeError, match="'raw'"):
        encoder.fit(bad)
    with pytest.raises(NotFittedError):
        encoder.transform(good)
    encoder.fit(good)
    with pytest.raises(TypeError, match="'raw'"):
        encoder.fit(bad)
    assert encoder.transform(good).tolist() == [[-1], [1]]


def test_number_that_turns_into_text_is_named():
    encoder = TableEncoder().fit(pd.DataFrame({"age": [1, 2]}))
    for library in (pd, pl):
        with pytest.raises(ValueError, match="'age' was numeric in `fit`"):
            encoder.transform(library.DataFrame({"age": ["old", "young"]}))


def test_flag_that_turns_into_a_number_is_the_same_flag():
    flags = pd.DataFrame({"flag": [True, False]})
    encoder = TableEncoder().fit(flags)
    for library in (pd, pl):
        for numbers in ([1, 0], [1.0, 0.0], [1.0, None]):
            same = encoder.transform(library.DataFrame({"flag": numbers}))
            known = slice(None) if None not in numbers else slice(1)
            assert same[known].tolist() == encoder.transform(flags)[known].tolist()
        other = encoder.transform(library.DataFrame({"flag": [2]}))
        assert other.tolist() == [[-1, -1]]  # as any category that was not seen
        gap = encoder.transform(library.DataFrame({"flag": [np.nan]}))
        assert gap.tolist() == [[-1, -1]]


def test_category_that_turns_into_a_date_is_named():
    encoder = TableEncoder().fit(pd.DataFrame({"day": ["2020-01-01", "2020-01-02"]}))
    for library in (pd, pl):
        with pytest.raises(TypeError, match="'day'"):
            encoder.transform(library.DataFrame({"day": [dt.datetime(2020, 1, 1)]}))


# As part of scikit-learn


def test_clone_pickle_and_pipeline():
    d = otfair.make_synthetic(n=300)
    encoder = TableEncoder().fit(d.X)
    copy = pickle.loads(pickle.dumps(encoder))
    np.testing.assert_array_equal(copy.transform(d.X), encoder.transform(d.X))
    assert not hasattr(clone(encoder), "columns_")
    model = make_pipeline(TableEncoder(), LogisticRegression()).fit(d.X, d.y)
    assert model.score(d.X, d.y) > 0.7
    as_polars = pl.from_pandas(d.X)
    np.testing.assert_array_equal(model.predict_proba(as_polars), model.predict_proba(d.X))


def test_output_as_a_table():
    table = pd.DataFrame({"x": [1, 2], "c": ["a", "b"]}, index=[5, 7])
    encoded = TableEncoder().set_output(transform="pandas").fit_transform(table)
    assert list(encoded.columns) == ["x", "c=a", "c=b"]
    assert list(encoded.index) == [5, 7]
    as_polars = TableEncoder().set_output(transform="polars").fit_transform(pl.from_pandas(table))
    assert as_polars.columns == ["x", "c=a", "c=b"]


def test_arrays_and_lists():
    rows = [[1, "a"], [2, "b"]]
    for X in (rows, np.array(rows, dtype=object), pd.DataFrame(rows)):
        encoder = TableEncoder().fit(X)
        assert encoder.get_feature_names_out().tolist() == ["x0", "x1=a", "x1=b"]
        assert encoder.get_feature_names_out(["n", "c"]).tolist() == ["n", "c=a", "c=b"]
        assert encoder.transform(X).tolist() == [[-1, 1, -1], [1, -1, 1]]


def test_refitting_forgets():
    encoder = TableEncoder().fit(pd.DataFrame({"a": ["x", "y"]}))
    encoder.fit(np.array([[1.0], [2.0]]))
    assert not hasattr(encoder, "feature_names_in_")
    assert encoder.get_feature_names_out().tolist() == ["x0"]


def test_a_weight_is_as_many_copies():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({
        "x": np.where(rng.random(40) < 0.2, np.nan, rng.normal(size=40)),
        "c": rng.choice(["a", "b", None], 40),
        "k": 7.1,
        "only": "a",
    })  # fmt: skip
    table.loc[0, ["x", "c"]] = [1e9, "rare"]
    weight = rng.integers(0, 4, 40)
    weight[0] = 0
    copies = TableEncoder().fit(table.iloc[np.repeat(np.arange(40), weight)])
    for scale in (1, 0.1):
        encoder = TableEncoder().fit(table, sample_weight=scale * weight)
        np.testing.assert_allclose(encoder.transform(table), copies.transform(table), rtol=1e-9)
    with pytest.raises(ValueError, match="`sample_weight`"):
        TableEncoder().fit(table, sample_weight=-weight)


@pytest.mark.filterwarnings("error")
def test_weights_of_any_size():
    gap, tiny = [1.0, 2.0, np.nan], [1e-200, 1e-200, 1e200]
    (column,) = TableEncoder().fit(pd.DataFrame({"a": gap}), sample_weight=tiny).columns_
    np.testing.assert_allclose(column.mean, [1.5, 1.0])
    values = np.array([1.0, 2.0] + [np.nan] * 391)
    for n in range(3, 394):
        weight = np.append([1e-20, 1e-20], np.ones(n - 2))
        found = TableEncoder().fit(pd.DataFrame({"a": values[:n]}), sample_weight=weight)
        assert np.isfinite(found.transform(pd.DataFrame({"a": values[:n]}))).all()


def test_weights_of_a_pipeline_reach_the_encoder_too(tmp_path):
    table = pd.DataFrame({"x": [0.0, 1.0, 2.0, 9.0], "c": list("aabb")})
    weight, groups = np.array([1, 2, 3, 0]), list("uvuv")
    copies = np.repeat(np.arange(4), weight)
    with sklearn.config_context(enable_metadata_routing=True):
        model = OTFClassifier(alpha=0).set_fit_request(sensitive_features=True, sample_weight=True)
        pipeline = make_pipeline(TableEncoder(), model)
        pipeline.fit(table, [0, 1, 0, 1], sensitive_features=groups, sample_weight=weight)
    np.testing.assert_allclose(
        pipeline[0].transform(table), TableEncoder().fit(table.iloc[copies]).transform(table)
    )
    otfair.save_model(tmp_path / "m", pipeline)
    again = otfair.load_model(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_proba(table), pipeline.predict_proba(table))
