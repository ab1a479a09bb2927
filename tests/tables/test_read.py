"""Tables from files, hostile ones among them."""

from __future__ import annotations

import builtins
import csv
import gzip
import io
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables_for_commands import limited

from otfair.cli._columns import read_sensitive, require_columns, split_names, without_gaps
from otfair.tables import nearest
from otfair.tables._kinds import kind_of
from otfair.tables._read import Table, TableError, read_table

PEOPLE = [["age", "job", "score"], ["31", "cook", "0.5"], ["45", "clerk", "0.25"]]


def written(folder: Path, content: str | bytes, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def lines(separator: str = ",", end: str = "\n") -> str:
    return end.join(separator.join(row) for row in PEOPLE) + end


def assert_people(table: Table) -> None:
    assert table.frame["age"].tolist() == [31, 45]
    assert table.frame["job"].astype(str).tolist() == ["cook", "clerk"]
    assert table.frame["score"].tolist() == [0.5, 0.25]
    assert list(table.frame) == ["age", "job", "score"]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_any_separator_and_line_end(tmp_path, separator, end):
    assert_people(read_table(written(tmp_path, lines(separator, end))))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le"])
def test_byte_order_marks_are_no_part_of_the_first_name(tmp_path, encoding):
    mark = "\ufeff" if encoding == "utf-16-le" else ""
    assert_people(read_table(written(tmp_path, (mark + lines()).encode(encoding))))


def test_gzip_is_told_by_content(tmp_path):
    table = read_table(written(tmp_path, gzip.compress(lines().encode()), "no_suffix"))
    assert_people(table)
    assert table.format == "CSV, comma, utf-8, gzipped"


def test_codes_are_text_and_a_question_mark_is_a_gap(tmp_path):
    table = read_table(written(tmp_path, "age;zip;job\n31;01234;cook\n45;90210;?\n"))
    types = table.frame.dtypes.astype(str).to_dict()
    assert types == {"age": "int64", "zip": "category", "job": "category"}
    assert table.frame["job"].isna().sum() == 1
    assert table.format == "CSV, semicolon, utf-8"


@pytest.mark.parametrize("zipped", [False, True])
def test_parquet_is_told_by_content(tmp_path, zipped):
    frame = pd.DataFrame({"age": [31, 45], "job": ["cook", "clerk"], "score": [0.5, 0.25]})
    content = frame.to_parquet()
    table = read_table(written(tmp_path, gzip.compress(content) if zipped else content, "x.csv"))
    assert_people(table)
    assert table.frame["job"].dtype == "category"


def test_a_named_index_of_parquet_is_a_column_and_a_plain_one_is_not(tmp_path):
    frame = pd.DataFrame({"a": [1, 2]}, index=pd.Index([7, 8], name="id"))
    assert list(read_table(written(tmp_path, frame.to_parquet())).frame) == ["id", "a"]
    plain = frame.reset_index(drop=True)[::-1]
    assert list(read_table(written(tmp_path, plain.to_parquet())).frame) == ["a"]


def test_parquet_without_pyarrow_names_the_extra(tmp_path, monkeypatch):
    path = written(tmp_path, pd.DataFrame({"a": [1]}).to_parquet())
    real = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(TableError, match="pip install pyarrow"):
        read_table(path)


def test_an_empty_line_shifts_nothing_whatever_the_line_end(tmp_path):
    # pandas' own parser loses a field behind an empty line where lines end with "\\r" alone.
    for end in ("\n", "\r\n", "\r"):
        rows = ["age,job,score", "", "31,cook,0.5", "", "", " ", "45,clerk,0.25", ""]
        assert_people(read_table(written(tmp_path, end.join(rows))))


def test_many_columns_are_read_in_time(tmp_path):
    # Columns that were taken out of a table one by one took a minute for 2000 of them.
    names = [f"c{j}" for j in range(8000)]
    path = written(tmp_path, "\n".join([",".join(names), *[",".join("12" * 4000)] * 3]))
    with limited(60):
        frame = read_table(path).frame
    assert frame.shape == (3, 8000)
    assert frame["c0"].tolist() == [1, 1, 1]
    assert frame["c7999"].tolist() == [2, 2, 2]


def test_more_columns_than_any_table_has_are_rows(tmp_path):
    with pytest.raises(TableError, match="200001 columns, more than 100000"):
        read_table(written(tmp_path, "," * 200_000 + "\n1"))


def test_decimals_of_parquet_are_numbers(tmp_path):
    kinds = {
        "share": (pa.decimal128(5, 3), ["0.125", None, "0.5"]),
        "whole": (pa.decimal128(10, 0), ["1", "2", "3"]),
        "long": (pa.decimal128(38, 0), ["12345678901234567890123", "1", None]),
        "wide": (pa.decimal256(60, 2), ["1.5", "2.25", "1e40"]),
    }
    columns = {
        name: pa.array([None if v is None else Decimal(v) for v in values], kind)
        for name, (kind, values) in kinds.items()
    }
    pq.write_table(pa.table(columns), tmp_path / "t")
    frame = read_table(tmp_path / "t").frame
    assert frame["share"].tolist()[::2] == [0.125, 0.5]
    assert frame["share"].isna().tolist() == [False, True, False]
    assert frame["whole"].tolist() == [1, 2, 3]
    assert frame["whole"].dtype == np.int64
    assert frame["long"].astype(object).tolist()[:2] == ["12345678901234567890123", "1"]
    assert frame["wide"].tolist() == [1.5, 2.25, 1e40]


COUNTED = b'{"index_columns": [{"name": "x", "start": 0, "stop": 1%s, "step": 1}]}' % (b"0" * 30)


@pytest.mark.parametrize(
    "about",
    [b'{"index_columns": ["nobody"], "columns": [], "column_indexes": []}', b"{", b"[]", COUNTED],
)
def test_metadata_that_is_wrong_is_left_aside(tmp_path, about):
    table = pa.table({"a": [1, 2]}).replace_schema_metadata({b"pandas": about})
    pq.write_table(table, tmp_path / "t")
    assert read_table(tmp_path / "t").frame["a"].tolist() == [1, 2]


def test_types_of_pandas_are_read_as_those_of_any_program(tmp_path):
    kinds = {
        "list": (pd.ArrowDtype(pa.list_(pa.int64())), [[1], [2]]),  # which pandas can't read back
        "decimal": (pd.ArrowDtype(pa.decimal128(5, 2)), [Decimal("1.25"), None]),
        "text": (pd.ArrowDtype(pa.string()), ["a", None]),
        "whole": ("Int64", [1, None]),
        "flag": ("boolean", [True, None]),
    }
    frame = pd.DataFrame({name: pd.Series(v, dtype=kind) for name, (kind, v) in kinds.items()})
    frame.to_parquet(tmp_path / "t")
    again = read_table(tmp_path / "t").frame
    assert [kind_of(again[c]).value for c in again] == [
        "other", "number", "groups", "number", "groups",
    ]  # fmt: skip
    assert again["decimal"].tolist()[0] == 1.25


def test_an_index_that_counts_rows_is_a_column_if_it_has_a_name(tmp_path):
    frame = pd.DataFrame({"a": [1, 2]}, index=pd.RangeIndex(5, 9, 2, name="id"))
    frame.to_parquet(tmp_path / "t")
    again = read_table(tmp_path / "t").frame
    assert again.to_dict("list") == {"id": [5, 7], "a": [1, 2]}


def test_categories_of_parquet_keep_their_order_and_text_is_in_order(tmp_path):
    frame = pd.DataFrame(
        {"text": ["b", "a", None], "own": pd.Categorical(list("xyx"), list("zyx"))}
    )
    frame.to_parquet(tmp_path / "t")
    again = read_table(tmp_path / "t").frame
    assert again["text"].cat.categories.tolist() == ["a", "b"]
    assert again["own"].cat.categories.tolist() == ["z", "y", "x"]


def test_a_byte_of_another_encoding_is_named_wherever_it_is(tmp_path):
    content = b"name,x\n" + b"Ann,1\n" * 20_000 + b"Jos\xe9,1\n"
    with pytest.raises(TableError, match="byte 0xe9 in line 20002"):
        read_table(written(tmp_path, content))


def test_quotes_hold_separators_line_ends_and_quotes(tmp_path):
    text = 'name,note\n"Doe, Ann","says ""hi"", twice"\n"two\nlines", "after a space, too"\n'
    frame = read_table(written(tmp_path, text)).frame
    assert frame["name"].tolist() == ["Doe, Ann", "two\nlines"]
    assert frame["note"].tolist() == ['says "hi", twice', "after a space, too"]


def test_a_separator_is_not_taken_from_quoted_text(tmp_path):
    text = "a;b\n" + '"1,2,3";x\n' * 5
    assert read_table(written(tmp_path, text)).frame.shape == (5, 2)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "-2", "+3"], "int64"),
        (["1", "", "3"], "float64"),
        (["1", "?", "NA"], "float64"),
        (["1.5", ".5", "2.", "1e-3", "-1E5"], "float64"),
        (["inf", "1"], "float64"),
        (["1,234", "5,678"], "category"),  # thousands
        (["1_000", "2_000"], "category"),
        (["007", "123"], "category"),  # codes
        (["9007199254740993", "1"], "category"),  # longer than a float is exact
        (["12345678901234567890123", "1"], "category"),
        (["1", "two"], "category"),
        (["True", "False"], "category"),
        (["None", "1"], "category"),
        (["٣", "٤"], "category"),  # digits of another script
        (["", "", ""], "category"),  # nothing is known of it
        (["nan", "NULL"], "category"),
    ],
)
def test_types(tmp_path, values, kind):
    text = "x;y\n" + "".join(f"{v};0\n" for v in values)
    column = read_table(written(tmp_path, text)).frame["x"]
    assert str(column.dtype) == kind
    gaps = {"", "?", "NA", "nan", "NULL"}
    assert column.isna().tolist() == [v in gaps for v in values]
    known = [v for v in values if v not in gaps]
    if kind == "category":
        assert column.dropna().tolist() == known
    else:
        assert column.dropna().tolist() == [float(v) for v in known]


def test_decimal_commas_are_read_when_asked_for(tmp_path):
    path = written(tmp_path, "p;q\n0,5;1\n0,25;2\n")
    assert str(read_table(path).frame["p"].dtype) == "category"
    assert read_table(path, decimal=",").frame["p"].tolist() == [0.5, 0.25]


def test_blanks_around_values_and_names_go(tmp_path):
    frame = read_table(written(tmp_path, "age , job\n31 , cook\n45, cook \n")).frame
    assert list(frame) == ["age", "job"]
    assert frame["age"].tolist() == [31, 45]
    assert frame["job"].tolist() == ["cook", "cook"]


def test_one_column_and_empty_lines(tmp_path):
    frame = read_table(written(tmp_path, "p\n0.5\n\n0.7\n\n")).frame
    assert frame["p"].tolist() == [0.5, 0.7]


def test_a_column_without_a_name_gets_one(tmp_path):
    assert list(read_table(written(tmp_path, ",a,\n0,1,\n1,2,\n")).frame) == [
        "column 1",
        "a",
        "column 3",
    ]


def test_standard_input(monkeypatch):
    class Input:
        buffer = io.BytesIO(lines().encode())

    monkeypatch.setattr("sys.stdin", Input())
    table = read_table("-")
    assert_people(table)
    assert table.source == "standard input"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b" \r\n\n", "is empty"),
        (b"a,b\n", "has columns but no rows"),
        (b"a,b\n1,2\n3,4,5\n", "line 3 has 3 fields, the header has 2"),
        (b"a,b\n1,2\n3\n", "line 3 has 1 fields, the header has 2"),
        (b"a,b\n" + b"1,2\n" * 3 + b"1,2,3,4\n", "line 5 has 4 fields"),
        (b"sex,age,sex\n1,2,3\n", "'sex' as the name of two columns"),
        (b"name,x\nJos\xe9,1\n", "--encoding latin-1"),
        (b"a,b\n1,\0\n", "is a binary file"),
        (bytes(range(1, 32)) * 9, "is a binary file"),
        (b"PK\x03\x04rest", "Excel"),
        (b"PAR1 and then nothing", "damaged Parquet"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0)[:-4], "gzipped and damaged"),
        (b"\x1f\x8bnothing", "gzipped and damaged"),
        (b'a,b\n1,"2\n3,4\n5,6\n', "within a row that begins in line 2. Is a quote not closed"),
        (b'a,b\n1,2\n3,"4\n5,6\n7,8",9,"\n', "Is a quote not closed that opens in line 3"),
        (b'a,b,c\n1,2,3\n3,"4,5\n', "Is a quote not closed that opens in line 3"),
        (b'[{"a": 1}]', "is a JSON file"),
        (b'{"a": [1]}', "is a JSON file"),
        (("a,b\n1,2\n" * 9).encode("utf-16-le"), "--encoding utf-16-le"),
        (("a,b\n1,2\n" * 9).encode("utf-16-be"), "--encoding utf-16-be"),
        (b'a\n"' + b"x" * 200_000, "quote not closed"),
        (b"a,b\n1\n" + b"1,2\n" * 20_000 + b"\xe9,1\n", "byte 0xe9 in line 20003"),  # ragged, too
        (b'a,b\n1,2\n3,"4\n' + b"5,6\n" * 99_999, "Is a quote not closed that opens in line 3"),
    ],
)
def test_what_is_wrong_is_said_in_a_line_with_the_file(tmp_path, content, said):
    path = written(tmp_path, content)
    with pytest.raises(TableError, match=said) as error:
        read_table(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("quote", ["", '"'])
def test_a_long_value_is_not_blamed_on_a_quote(tmp_path, quote):
    path = written(tmp_path, f"a,b\n1,2\n3,{quote}{'x' * 200_000}{quote}\n5,6\n")
    with pytest.raises(TableError, match="line 3 has a value of more than 131072 char") as error:
        read_table(path)
    assert str(error.value).endswith("Shorten it, or leave its column out.")


@pytest.mark.parametrize("separator", ["||", "", '"', "\n"])
def test_a_separator_is_one_character(tmp_path, separator):
    with pytest.raises(TableError, match="`separator` must be one character"):
        read_table(written(tmp_path, lines()), separator=separator)


def test_places_are_those_of_the_parser_whatever_is_quoted(tmp_path):
    # More rows than are parsed at once, of one line and of several, with empty lines between.
    rng = np.random.default_rng(0)
    for end in ("\n", "\r\n", "\r"):
        values = ["x", f'"x{end}y"', f'"{end}{end}"', '"a ""b"""', '" "', "1"]
        rows = [",".join(rng.choice(values, 2)) if rng.random() < 0.9 else "" for _ in range(2000)]
        text = "a,b" + end + end.join(rows) + end
        parser, expected, end_of_last = csv.reader(io.StringIO(text, newline="")), [], 0
        for row in parser:
            if row:
                expected.append((end_of_last + 1, row))
            end_of_last = parser.line_num
        table = read_table(written(tmp_path, text))
        assert table.lines.tolist() == [place for place, _ in expected[1:]]
        for name, at in (("a", 0), ("b", 1)):
            found = table.frame[name].astype(object).fillna("").tolist()
            assert found == [row[at].strip() for _, row in expected[1:]]


def test_a_number_too_large_is_told(tmp_path):
    table = read_table(written(tmp_path, "x,y,z\n1e400,1,inf\n2,1,0\n-1E999,1,0\n"))
    assert table.frame["x"].tolist() == [np.inf, 2, -np.inf]
    assert table.remarks == {
        "x": "2 of 3 values are too large and count as infinite, such as '1e400' (line 2)"
    }


def test_a_file_that_is_not_there_is_searched_for(tmp_path):
    written(tmp_path, lines(), "people.csv")
    with pytest.raises(TableError, match=r"no file .*, did you mean 'people.csv'\?"):
        read_table(tmp_path / "poeple.csv")
    with pytest.raises(TableError, match="is a folder"):
        read_table(tmp_path)
    with pytest.raises(TableError, match="unknown encoding 'klingon'"):
        read_table(tmp_path / "people.csv", encoding="klingon")


def test_another_encoding_and_separator_when_named(tmp_path):
    path = written(tmp_path, "name:x\nJosé:1\n".encode("latin-1"))
    frame = read_table(path, encoding="latin-1", separator=":").frame
    assert frame["name"].tolist() == ["José"]


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0\r")), min_size=2,
                 max_size=2),
        min_size=1, max_size=8,
    )
)  # fmt: skip
def test_text_comes_back_as_it_was_written(tmp_path_factory, rows):
    # What pandas writes is read back, but for a bare carriage return, which it does not quote.
    path = tmp_path_factory.mktemp("text") / "t.csv"
    frame = pd.DataFrame(rows, columns=["a", "b"]).map(lambda v: f"_{v}_")
    frame.to_csv(path, index=False)
    again = read_table(path, separator=",").frame.astype(object)
    assert again.to_numpy().tolist() == frame.to_numpy().tolist()


FRAME = pd.DataFrame(
    {
        "age": [31, 45, 60],
        "code": [1.0, 2.0, np.nan],
        "sex": pd.Categorical(["f", None, "m"]),
        "a:b": [1, 2, 1],
        "age:continuous": [0, 1, 0],
        "share": [0.5, 0.25, 0.1],
        "flag": [True, False, True],
    }
)
TABLE = Table(frame=FRAME, source="people.csv")


def test_sensitive_columns_by_kind():
    chosen = ["age:categorical", "code:categorical", "sex", "a:b", "share", "flag"]
    read = read_sensitive(TABLE, chosen)
    assert list(read) == ["age", "code", "sex", "a:b", "share", "flag"]
    assert read["age"].tolist() == ["31", "45", "60"]
    assert read["code"].tolist() == ["1", "2", None]
    assert read["sex"].isna().tolist() == [False, True, False]
    assert read["a:b"].dtype == np.int64
    assert read["share"].dtype == np.float64
    assert read["flag"].tolist() == ["True", "False", "True"]
    assert read_sensitive(TABLE, ["a:b:continuous"])["a:b"].dtype == np.float64
    assert read["code"].dtype == object


def test_a_column_with_a_colon_wins_over_a_kind():
    assert list(read_sensitive(TABLE, ["age:continuous"])) == ["age:continuous"]
    assert list(read_sensitive(TABLE, ["age:continuous:continuous"])) == ["age:continuous"]


def test_integers_with_a_gap_are_integers_once_it_is_gone():
    read = read_sensitive(TABLE, ["code"])
    assert read["code"].isna().tolist() == [False, False, True]
    kept = without_gaps(read, read["code"].notna())
    assert kept["code"].dtype == np.int64
    assert kept["code"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("sexx", "no column 'sexx' for --sensitive, did you mean 'sex'"),
        ("age:number", "Write age:continuous or age:categorical"),
        ("nope:continuous", "no column 'nope'"),
        ("sex:continuous", "holds text in 2 of 3 rows, the first is 'f' in row 1"),
        (":continuous", "no column ':continuous'"),
    ],
)
def test_sensitive_columns_that_make_no_sense(given, said):
    with pytest.raises(TableError, match=said):
        read_sensitive(TABLE, [given])


def test_no_text_of_a_table_breaks_a_line_or_a_terminal():
    table = Table(frame=pd.DataFrame({"a\nb": [1], "\x1b[31mred": [1]}), source="t")
    with pytest.raises(TableError) as error:
        require_columns(table, ["c"], "--label")
    assert str(error.value).isprintable()


def test_names():
    with pytest.raises(TableError, match="twice"):
        read_sensitive(TABLE, ["sex", "sex"])
    assert split_names(["a, b", "c", "a"], ["a", "b", "c"]) == ["a", "b", "c"]
    assert split_names(["a,b"], ["a,b"]) == ["a,b"]
    assert split_names([" a,b"], ["a", "b", " a,b"]) == [" a,b"]
    incomes = ["age", "job", "income, gross"]
    assert split_names(["age,job,income, gross"], incomes) == incomes
    names = ["age", "has, comma", "x,y,z"]
    assert split_names(["age,has, comma,x,y,z"], names) == names
    assert split_names(["age,has, coma,,x"], names) == ["age", "has", "coma", "x"]
    assert split_names(["a,b,c"], ["a", "b", "a,b", "c"]) == ["a", "b", "c"]
    assert nearest("SEX", ["age"]) == ""
    with pytest.raises(TableError, match=r"no column 'x', 'y' for --drop\. Its columns are: age"):
        require_columns(TABLE, ["x", "y"], "--drop")


YEARS = [str(year) for year in range(20, 60)]


@pytest.mark.parametrize(
    ("values", "remark"),
    [
        ([*YEARS, "n.a."], "1 of 41 values count as missing, such as 'n.a.' (line 42)"),
        (["Unknown", *YEARS, "-"], "2 of 42 values count as missing, such as 'Unknown' (line 2)"),
        ([*YEARS, "old"], "40 of 41 values are numbers, 'old' (line 42) is not, so that it is"),
        (["old", *YEARS, "x"], "40 of 42 values are numbers, 'old' (line 2) and 1 others are not"),
        ([f"{year}%" for year in YEARS], "values such as '20%' (line 2) are percentages; remove"),
        (["$1,250", "$900"], "values such as '$1,250' (line 2) are amounts of money"),
        (["0,5", "1,25"], "values such as '0,5' (line 2) have a decimal comma; pass `--decimal ,`"),
        (["950", "1'250"], 'values such as "1\'250" (line 3) have separators of thousands'),
        ([*YEARS, "01234"], ""),  # codes
        ([*YEARS, *["cook", "clerk"] * 9], ""),  # far from numbers
        (["1", "2", "unknown"], ""),  # names of groups
        (YEARS, ""),
        (["cook", "clerk"], ""),
    ],
)
def test_columns_that_are_nearly_numbers_are_told(tmp_path, values, remark):
    rows = "\n".join(f'"{value}",1' for value in values)
    table = read_table(written(tmp_path, f"age,x\n{rows}\n"))
    said = table.remarks.get("age", "")
    assert said.startswith(remark)
    assert bool(said) == bool(remark)
    assert "x" not in table.remarks
    numbers = pd.api.types.is_numeric_dtype(table.frame["age"])
    assert numbers == (values == YEARS or "missing" in remark)
    if numbers:
        gaps = [text not in YEARS for text in values]
        assert table.frame["age"].isna().tolist() == gaps


def test_a_place_is_a_line_of_the_file(tmp_path):
    # Blank lines and values of two lines make lines differ from rows.
    table = read_table(written(tmp_path, 'a,b\n\n1,"x\ny"\n2,z\n\n\n3,z\nold,z\n'))
    assert [table.place(row) for row in range(4)] == ["line 3", "line 5", "line 8", "line 9"]
    assert table.no_number("a") == ("old", "line 9", 1)
    assert Table(frame=FRAME, source="people.parquet").place(0) == "row 1"


def test_a_file_is_suggested_whatever_its_suffix(tmp_path):
    written(tmp_path, lines(), "people.csv.gz")
    written(tmp_path, lines(), "b.csv")
    for asked, meant in (("b.parquet", "b.csv"), ("peopel.csv", "people.csv.gz")):
        with pytest.raises(TableError, match=f"did you mean '{meant}'"):
            read_table(tmp_path / asked)


def test_integers_and_truth_values_with_gaps_stay_what_they_are_in_parquet(tmp_path):
    long = [None if i == 5 else 2**53 + 2 * i + 1 for i in range(8)]
    given = pd.DataFrame(
        {
            "id": pd.array(long, dtype="Int64"),
            "long": pd.array([None, *[2**64 - 1] * 7], dtype="UInt64"),
            "self": pd.array([None, *[3] * 7], dtype="Int8"),
            "yes": pd.array([None, *[True, False, True] * 2, True], dtype="boolean"),
            "whole": range(8),
        }
    )
    given.to_parquet(tmp_path / "t.parquet", index=False)
    pd.testing.assert_frame_equal(read_table(tmp_path / "t.parquet").frame, given)
