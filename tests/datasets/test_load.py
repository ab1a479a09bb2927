"""The five real datasets, as their recipes say."""

import dataclasses
import gzip
import inspect

import numpy as np
import pandas as pd
import pytest

import otfair
from otfair.datasets import SOURCES, _acs_income, _adult, _bank, _diabetes
from otfair.datasets._source import Source

# name: rows, positives, features, {sensitive column: {group: (rows, rate of positives)}}
FACTS = {
    "adult": (
        45222,
        11208,
        11,
        {
            "sex": {"Female": (14695, 0.1136), "Male": (30527, 0.3125)},
            "race": {"Non-white": (6319, 0.1584), "White": (38903, 0.2624)},
        },
    ),
    "bank": (41188, 4640, 19, {"age_binned": {"<38": (19768, 0.1204), ">=38": (21420, 0.1055)}}),
    "dutch": (60420, 28763, 10, {"sex": {"female": (30273, 0.3271), "male": (30147, 0.6256)}}),
    "acs_income": (
        332900,
        122651,
        8,
        {
            "sex": {"Male": (173575, 0.4418), "Female": (159325, 0.2885)},
            "race": {
                "White": (259392, 0.3905),
                "Black": (29642, 0.2459),
                "American Indian": (2357, 0.2215),
                "Alaska Native": (186, 0.2097),
                "American Indian or Alaska Native": (452, 0.1726),
                "Asian": (19232, 0.4487),
                "Pacific Islander": (548, 0.2445),
                "Other": (12692, 0.1725),
                "Two or more": (8399, 0.2962),
            },
        },
    ),
    "diabetes": (
        45715,
        11066,
        40,
        {"gender": {"Female": (25062, 0.2395), "Male": (20653, 0.2452)}},
    ),
}


@pytest.fixture(scope="module")
def load(data_home):
    """Loader that remembers what it has loaded, and never uses the network."""
    loaded = {}

    def load(name, **options):
        key = (name, *sorted(options.items()))
        if key not in loaded:
            loaded[key] = otfair.load_dataset(name, data_home, download=False, **options)
        return loaded[key]

    return load


@pytest.mark.parametrize("name", FACTS)
def test_counts_and_rates_per_group(load, name):
    d = load(name)
    rows, positives, features, groups = FACTS[name]
    assert d.X.shape == (rows, features)
    assert d.y.shape == (rows,)
    assert len(d.sensitive_features) == rows
    assert d.y.sum() == positives
    for column, expected in groups.items():
        by_group = pd.Series(d.y).groupby(d.sensitive_features[column], observed=False)
        found = {g: (len(labels), round(labels.mean(), 4)) for g, labels in by_group}
        assert found == expected


@pytest.mark.parametrize("name", FACTS)
def test_form(load, name):
    d = load(name)
    assert d.name == name
    assert d.y.dtype == np.int64
    assert set(np.unique(d.y)) == {0, 1}
    assert d.truth is None
    assert not d.X.isna().any(axis=None)
    # Sensitive columns, under whatever name, and the label are not features.
    assert not set(d.X) & {
        *d.sensitive_features,
        "age_binned",
        "income-per-year",
        "y",
        "readmitted",
    }
    for frame in (d.X, d.sensitive_features):
        assert frame.index.equals(pd.RangeIndex(len(d.y)))
        for column in frame:
            category = isinstance(frame[column].dtype, pd.CategoricalDtype)
            assert category or pd.api.types.is_numeric_dtype(frame[column])
    for text in (d.description, d.licence, d.citation):
        assert text
    assert str(len(d.y)) in repr(d)


@pytest.mark.parametrize(
    ("name", "options", "width"),
    [
        ("adult", {}, 96),
        ("bank", {}, 62),
        ("bank", {"duration": False}, 61),
        ("dutch", {}, 59),
        ("dutch", {"ordered_as_numbers": True}, 43),
        ("acs_income", {}, 247),
        ("acs_income", {"part": "test"}, 247),
        ("acs_income", {"all_codes": True}, 786),
        ("diabetes", {}, 145),
        ("diabetes", {"ids_as_numbers": True}, 105),
        ("diabetes", {"diagnoses": True}, 2020),
        ("diabetes", {"diagnoses": True, "ids_as_numbers": True}, 1980),
    ],
)
def test_encoded_width(load, name, options, width):
    encoder = otfair.TableEncoder().fit(load(name, **options).X)
    names = encoder.get_feature_names_out()
    assert len(set(names)) == len(names) == width
    assert encoder.transform(load(name, **options).X.head()).shape == (5, width)


def test_adult_columns_are_encoded_as_the_recipe_says(load):
    names = otfair.TableEncoder().fit(load("adult").X).get_feature_names_out()
    dummies = pd.Series([n.split("=")[0] for n in names if "=" in n]).value_counts().to_dict()
    assert dummies == {
        "workclass": 7,
        "education": 16,
        "marital-status": 7,
        "occupation": 14,
        "relationship": 6,
        "native-country": 41,
    }
    assert [n for n in names if "=" not in n] == [
        "age",
        "education-num",
        "capital-gain",
        "capital-loss",
        "hours-per-week",
    ]


def test_adult_has_the_test_part_first(load):
    # The first person of adult.test, then (3620 rows being dropped) the last of adult.data.
    first, last = load("adult").X.iloc[0], load("adult").X.iloc[-1]
    assert (first["age"], first["education"], first["hours-per-week"]) == (25, "11th", 40)
    assert (last["age"], last["education"], last["capital-gain"]) == (52, "HS-grad", 15024)


def test_bank_keeps_unknown_and_exact_ages(load):
    d = load("bank")
    assert (d.X["job"] == "unknown").sum() == 330
    ages = d.sensitive_features["age"]
    assert pd.api.types.is_numeric_dtype(ages)
    assert ages.median() == _bank.AGE_SPLIT
    assert ((ages < 38) == (d.sensitive_features["age_binned"] == "<38")).all()


def test_diabetes_none_is_a_value(load):
    # A reader that takes `None` for a gap leaves 173 rows.
    d = load("diabetes")
    assert set(d.X["A1Cresult"].cat.categories) == {"None", "Norm", ">7", ">8"}
    assert set(d.X["max_glu_serum"].cat.categories) == {"None", "Norm", ">200", ">300"}
    assert (d.X["A1Cresult"] == "None").sum() > 30000
    tested = (d.X["A1Cresult"] != "None") & (d.X["max_glu_serum"] != "None")
    assert tested.sum() == 173


def test_diabetes_diagnosis_codes_stay_text(load):
    X = load("diabetes", diagnoses=True).X
    assert [X[c].nunique() for c in _diabetes.DIAGNOSES] == [608, 614, 653]
    assert "250.83" in set(X["diag_1"].cat.categories) | set(X["diag_2"].cat.categories)


def test_codes_are_categories_in_the_order_of_numbers(load):
    assert list(load("dutch").X["age"].cat.categories) == [str(band) for band in range(4, 16)]
    assert list(load("diabetes").X["admission_type_id"].cat.categories)[:2] == ["1", "2"]
    assert load("dutch", ordered_as_numbers=True).X["edu_level"].max() == 5


def test_acs_income_has_two_parts_with_the_same_categories(load):
    train, test = load("acs_income"), load("acs_income", part="test")
    assert (len(test.y), round(test.y.mean(), 4)) == (332900, 0.3691)
    rates = pd.Series(test.y).groupby(test.sensitive_features["sex"], observed=False).mean()
    assert rates.round(4).to_dict() == {"Male": 0.4426, "Female": 0.2892}
    assert (train.X.dtypes == test.X.dtypes).all()  # which of a category are its values
    assert "part=test (default train)" in test.description
    # Schooling is ordered; the numbers are those of the survey.
    assert (train.X["SCHL"].min(), train.X["SCHL"].max()) == (1, 24)
    assert list(train.X)[:3] == ["AGEP", "SCHL", "WKHP"]


def test_acs_income_merges_rare_codes_in_their_group_and_keeps_their_order(load):
    merged, codes = load("acs_income").X, load("acs_income", all_codes=True).X
    assert [codes[c].nunique() for c in ("OCCP", "POBP", "COW", "MAR", "RELP")] == [
        529, 223, 8, 5, 18,
    ]  # fmt: skip
    numbers = [int(code) for code in codes["OCCP"].cat.categories]
    assert numbers == sorted(numbers)
    for column, least in (("OCCP", 666), ("POBP", 666)):
        counts = codes[column].value_counts()
        whole = merged[column].cat.categories
        kept = [name for name in whole if "other" not in name]
        assert set(kept) == set(counts.index[counts >= least])
        assert (merged[column] == codes[column].astype(object))[codes[column].isin(kept)].all()
        # Groups are spans of codes that do not overlap.
        rare = merged[column].astype(str).str.startswith("other")
        numbers = codes[column][rare].astype(int).groupby(merged[column][rare], observed=True)
        spans = numbers.agg(["min", "max"]).sort_values("min")
        assert (spans["max"].to_numpy()[:-1] < spans["min"].to_numpy()[1:]).all()
    roofers = codes["OCCP"] == "6515"  # too few to stand by themselves
    assert set(merged["OCCP"][roofers]) == {"other, construction"}
    assert set(merged["POBP"][codes["POBP"] == "109"]) == {"other, Europe"}  # France


def test_acs_income_is_no_experiment_of_the_paper():
    assert SOURCES["acs_income"].experiments == ()


def test_folder_from_the_environment_plain_and_compressed(data_home, tmp_path, monkeypatch, load):
    compressed = next(data_home.glob("dutch.csv*"))
    raw = compressed.read_bytes()
    plain = gzip.decompress(raw) if compressed.suffix == ".gz" else raw
    (tmp_path / "dutch.csv").write_bytes(plain)
    monkeypatch.setenv("OTFAIR_DATA_HOME", str(tmp_path))
    d = otfair.load_dataset("dutch", download=False)
    assert d.X.equals(load("dutch").X)
    (tmp_path / "dutch.csv").write_bytes(plain.replace(b"female", b"FEMALE", 1))
    with pytest.raises(otfair.DatasetError, match="damaged"):
        otfair.load_dataset("dutch", download=False)


def test_all_files_verify(data_home):
    for name in otfair.list_datasets():
        assert otfair.verify_dataset(name, data_home) == otfair.locate_dataset(name, data_home)


# The choices left open by the paper: one place, with a reason, told to the user.


def test_choices_are_the_options_of_the_recipes():
    real = {name: source for name, source in SOURCES.items() if source.files}
    assert list(SOURCES) == otfair.list_datasets()
    assert list(real) == otfair.list_datasets()[:-1]
    for source in real.values():
        parameters = inspect.signature(source.recipe).parameters.values()
        options = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
        assert options == [choice.option for choice in source.choices]


def test_description_tells_the_choice_made():
    source = SOURCES["bank"]
    said = source.describe(source.resolve({"duration": False}))
    assert "duration=False (default True)" in said
    assert source.choices[0].reason in said


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("bank", {"diagnoses": True}, "'bank' has no option `diagnoses`.*`duration`"),
        ("adult", {"n": 3}, "'adult' has no option `n`.*none"),
        ("bank", {"duration": "yes"}, "`duration` must be True or False; received 'yes'"),
        ("bank", {"duration": 1}, "`duration` must be True or False; received 1"),
        ("acs_income", {"part": "both"}, "`part` must be 'train' or 'test'; received 'both'"),
    ],
)
def test_wrong_options_are_told_before_anything_is_read(tmp_path, name, options, said):
    with pytest.raises(TypeError, match=said):
        otfair.load_dataset(name, tmp_path, download=False, **options)


def test_dataset_can_not_be_changed_by_accident():
    d = otfair.make_synthetic(n=10)
    with pytest.raises(dataclasses.FrozenInstanceError):
        d.y = None


# The recipes on a few made-up lines, which need no data folder


def test_adult_recipe_on_a_few_lines():
    person = (
        b"30, Private, 1, HS-grad, 9, Divorced, Sales, Unmarried, %s, Male, 0, 0, 40, Peru, %s\n"
    )
    train = person % (b"White", b"<=50K") + person.replace(b"Sales", b"?") % (b"White", b">50K")
    test = b"|1x3 Cross validator\n" + person % (b"Black", b">50K.") + b"\n"
    X, y, sensitive = _adult.read(train, test)
    assert y.tolist() == [1, 0]  # test first; the row with a gap is gone
    assert sensitive["race"].tolist() == ["Non-white", "White"]
    assert "fnlwgt" not in X


def test_acs_income_recipe_on_a_few_people():
    people = {
        "PINCP": [1, 0, 0], "RAC1P": [0, 8, 5], "SEX": [1.0, 2.0, 2.0], "AGEP": [40.0, 20.0, 30.0],
        "SCHL": [16.0, 21.0, 24.0], "WKHP": [40.0, 10.0, 99.0], "COW": [1.0, 2.0, 1.0],
        "MAR": [1.0, 5.0, 5.0], "RELP": [0.0, 17.0, 0.0], "OCCP": [10.0, 9830.0, 10.0],
        "POBP": [1.0, 554.0, 1.0],
    }  # fmt: skip
    # In the training part a thousand times, but for the second person.
    train = pd.concat([pd.DataFrame(people).iloc[[0, 2]]] * 500 + [pd.DataFrame(people).iloc[[1]]])
    files = (train.to_parquet(), pd.DataFrame(people).to_parquet())
    X, y, sensitive = _acs_income.read(*files, part="test", all_codes=False)
    assert y.tolist() == [1, 0, 0]
    assert sensitive["sex"].tolist() == ["Male", "Female", "Female"]
    assert sensitive["race"].tolist() == ["White", "Two or more", "Asian"]
    assert X["OCCP"].tolist() == ["10", "other, military", "10"]
    assert X["POBP"].tolist() == ["1", "other, Oceania", "1"]
    assert X["RELP"].tolist() == ["0", "17", "0"]
    whole, _, _ = _acs_income.read(*files, part="test", all_codes=True)
    assert whole["OCCP"].tolist() == ["10", "9830", "10"]
    assert len(_acs_income.read(*files, part="train", all_codes=True)[1]) == 1001


def test_diabetes_recipe_on_a_few_lines():
    header = (
        "encounter_id,patient_nbr,race,gender,weight,payer_code,medical_specialty,diag_1,diag_2,"
        "diag_3,A1Cresult,admission_type_id,discharge_disposition_id,admission_source_id,readmitted\n"
    )
    lines = [
        "1,1,Asian,Female,?,?,?,250,V27,401,None,1,1,7,<30",  # `None` and empty columns: stays
        "2,2,Asian,Male,?,?,?,250,V27,401,>7,2,1,7,>30",
        "3,3,?,Male,?,?,?,250,V27,401,>7,1,1,7,>30",  # race missing
        "4,4,Asian,Male,?,?,?,250,?,401,>7,1,1,7,>30",  # diagnosis missing, even if not a feature
        "5,5,Asian,Male,?,?,?,250,V27,401,>7,1,1,7,NO",  # not readmitted
    ]
    table = (header + "\n".join(lines)).encode()
    X, y, sensitive = _diabetes.read(table, diagnoses=False, ids_as_numbers=False)
    assert y.tolist() == [1, 0]
    assert sensitive["gender"].tolist() == ["Female", "Male"]
    assert X["A1Cresult"].tolist() == ["None", ">7"]
    assert X["admission_type_id"].tolist() == ["1", "2"]
    assert not {"diag_1", "encounter_id", "patient_nbr", "weight"} & set(X)


def test_a_card_needs_no_choices_and_no_experiments_of_the_paper(tmp_path, monkeypatch):
    (tmp_path / "cards").mkdir()
    (tmp_path / "cards" / "few.toml").write_text(
        'label = "yes"\nrows = 2\nsensitive = ["sex"]\nfiles = []\n', encoding="utf-8"
    )
    monkeypatch.setattr("importlib.resources.files", lambda package: tmp_path)
    source = Source.from_card("few", lambda: None)
    assert (source.sensitive, source.choices, source.experiments) == (("sex",), (), ())
