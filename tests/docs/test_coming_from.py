"""What docs/coming_from.md says of its peers, computed again from the committed runs."""

from __future__ import annotations

import pandas as pd
from page_scripts import BENCHMARKS, DOCS, cells, page, says, short


def test_methods_with_thresholds_are_level_but_for_one_table():
    told = {}
    for title, *row in cells(page("decisions"), "leads"):
        for cell in row[2:4]:  # ThresholdOptimizer and error-parity
            if "±" in cell:
                lead, reach = (float(x) for x in cell.split(" (")[0].split(" ± "))
                told.setdefault(title.split(",")[0], []).append((lead, reach))
    for name in ("Adult", "Bank", "ACSIncome"):
        assert all(abs(lead) <= reach for lead, reach in told[name])
    assert all(lead < 0 for lead, _ in told["Dutch"])
    says("coming_from", "in accuracy on Adult, Bank and ACSIncome, and a little ahead on Dutch")


def test_methods_with_thresholds_are_mostly_faster():
    runs = pd.read_csv(DOCS / "decisions.csv")
    taken = runs.groupby(["table", "method"])["seconds"].median().unstack()
    assert (taken["error_parity"] < taken["attribute"]).loc[taken["error_parity"].notna()].all()
    both = taken[["attribute", "thresholds"]].dropna()
    assert (both["thresholds"] < both["attribute"]).mean() > 0.5
    says("coming_from", "error-parity is faster on every table, and ThresholdOptimizer on most")


def test_fairret_on_adult():
    fits = pd.read_csv(BENCHMARKS / "peers.csv")
    steps = fits[fits["section"] == "step"].set_index("method")["seconds"]
    assert steps["fairret, Norm"] < steps["otfair, OTFLoss after fit"]
    fits = fits[fits["section"] == "fit"].set_index("method")
    norm, otf, ours, free, projection = (
        short(fits["auc"][name])
        for name in (
            "fairret, Norm", "otfair, OTF", "otfair, Norm", "no penalty", "fairret, KL projection"
        )
    )  # fmt: skip
    says("coming_from", f"a test AUC of {norm}, OTF {otf} and our own Norm {ours}")
    says("coming_from", f"without a penalty it is {free}")
    assert fits["seconds"]["fairret, KL projection"] > fits["seconds"]["otfair, OTF"]
    says("coming_from", f"KL projection takes longer than OTF there, and has {projection}")
