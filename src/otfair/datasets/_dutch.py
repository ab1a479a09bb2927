"""The Dutch census of 2001."""

from __future__ import annotations

from otfair.datasets._files import DataFile
from otfair.datasets._source import Choice, Parts, Source, codes_as_categories, read_csv, to_parts

ORDERED = ["age", "edu_level"]


def read(table_file: bytes, *, ordered_as_numbers: bool) -> Parts:
    """60420 people of the Dutch census of 2001; all columns are category codes."""
    table = read_csv(table_file)
    X = table.drop(columns=["sex", "occupation"])
    codes = X.columns.difference(ORDERED if ordered_as_numbers else [])
    return to_parts(codes_as_categories(X, codes), table["occupation"] == 1, table[["sex"]])


DUTCH = Source(
    name="dutch",
    label="high-level occupation, 2001",
    sensitive=("sex",),
    experiments=(("sex",),),
    recipe=read,
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
    files=(
        DataFile(
            name="dutch.csv",
            size=2316287,
            sha256="c0e1df7e2ca07fa84aa99b5565c7b782a381e2fab377648a6d920174d04ce090",
            source=(
                "There is no open download of this file: IPUMS-International licenses the census "
                "to each user. Ask for the reduced table of Le Quy et al. (doi:10.1002/widm.1452; "
                "their repository github.com/tailequy/fairness_dataset keeps it under "
                "experiments/data), or request the Dutch Virtual Census of 2001 at "
                "https://international.ipums.org; its checksum will tell whether the two agree."
            ),
        ),
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
)
