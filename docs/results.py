"""Write the page of results, its pictures and where OTF stands, from the committed runs."""

from __future__ import annotations

import pandas as pd
from pages import DOCS, fill

from otfair.reproduction import read_csv, write_figures, write_page
from otfair.reproduction._claims import Difference, compare
from otfair.reproduction._frames import BOTH, LARGER, select, to_frame
from otfair.reproduction._store import Result

PICTURES = "_static/results"
FIRST_PAGES = DOCS.parent / "README.md", DOCS / "index.md"


def stands(runs: list[Result]) -> dict[str, str]:
    """Return for the first pages where OTF is ahead of the norm penalty, level with it and behind.

    By AUC on test people of ten splits, where half of the unfair model's violation is left.
    """
    frame = to_frame(runs)
    one, each = (
        select(compare(frame, "full", "test", mine, ("norm",)), share=0.5)
        for mine in ("otf", "otf_attributes")
    )
    rest = [d.mean for d in one[one["dataset"] != "adult"]["difference"] if d.splits]
    lines = {
        "Ahead": "equalized odds for two attributes at once. On Adult, by the larger of the "
        f"violations by sex and by race: {_on_adult(one, LARGER, 'peo')}.",
        "Level": f"Bank, Dutch and Diabetes, one attribute each: {min(rest):+.4f} to "
        f"{max(rest):+.4f}.",
        "Behind": "by race on Adult, demographic parity, where sex and race are trained as one: "
        f"{_on_adult(one, 'race', 'pdp')}. One cost for each attribute mends it: by the larger "
        f"share that is left of the two, {_on_adult(each, BOTH, 'pdp')}.",
    }
    return {"stands": "\n".join(f"- **{word}**: {text}" for word, text in lines.items())}


def _on_adult(table: pd.DataFrame, attribute: str, notion: str) -> Difference:
    found = select(table, dataset="adult", attribute=attribute, notion=notion)["difference"]
    return found.iloc[0]


def main() -> None:
    """Read docs/results.csv; write docs/results.md, the PNG figures and part of the first pages."""
    runs = read_csv(DOCS / "results.csv")
    for path in write_figures(runs, DOCS / PICTURES):
        if path.suffix == ".pdf":
            path.unlink()
    write_page(runs, DOCS / "results.md", figures=PICTURES)
    for page in FIRST_PAGES:
        fill(page, stands(runs))


if __name__ == "__main__":
    main()
