"""Write the page of results, its pictures and where OTF stands, from the committed runs."""

from __future__ import annotations

import metrics
import pandas as pd
from pages import BENCHMARKS, DOCS, fill

from otfair.reproduction import Result, read_csv, to_frame, write_figures, write_page
from otfair.reproduction._claims import Difference, mean_difference
from otfair.reproduction._losses import losses, worst
from otfair.reproduction._stands import compact, left_out, verdict

PICTURES = "_static/results"
FIRST_PAGES = DOCS.parent / "README.md", DOCS / "index.md"
LIMITS = DOCS / "limits.md"
ALONE = "Adult, demographic parity, by sex, trained for sex alone ({} splits, not counted above)"


def sex_alone() -> Difference:
    """Return OTF's AUC minus Norm's on Adult at half of the violation, both trained for sex."""
    runs = pd.read_csv(BENCHMARKS / "neighbours.csv")
    half = metrics.halved(runs[(runs["dataset"] == "adult") & (runs["notion"] == "PDP")])
    auc = half.pivot_table(index="split", columns="penalty", values="auc")
    return mean_difference((auc["otf"] - auc["norm"]).tolist())


def where_it_stands(runs: list[Result]) -> dict[str, str]:
    """Return for the first pages a verdict, and the table behind it."""
    frame, alone = to_frame(runs), sex_alone()
    return {
        "verdict": verdict(frame),
        "stands": compact(frame, {ALONE.format(alone.splits): {"norm": alone}}),
    }


def where_it_loses(runs: list[Result]) -> dict[str, str]:
    """Return for the page of limits where training with OTF loses."""
    frame = to_frame(runs)
    lines = [*losses(frame), *filter(None, [left_out(frame)])]
    return {"worst": worst(frame), "losses": "\n".join(f"- {line}" for line in lines)}


def main() -> None:
    """Read docs/results.csv; write docs/results.md, the PNG figures and part of other pages."""
    runs = read_csv(DOCS / "results.csv")
    for path in write_figures(runs, DOCS / PICTURES):
        if path.suffix == ".pdf":
            path.unlink()
    write_page(runs, DOCS / "results.md", figures=PICTURES)
    for page in FIRST_PAGES:
        fill(page, where_it_stands(runs))
    fill(LIMITS, where_it_loses(runs))


if __name__ == "__main__":
    main()
