"""Write the tables and figures of docs/benchmarks.md from the runs that are committed."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

from benchmark_page import figures  # noqa: E402
from benchmark_page import networks as nets  # noqa: E402
from benchmark_page import runs as data  # noqa: E402
from benchmark_page.runs import METHODS, NOTIONS, ODDS, PARITY, number, of, shown  # noqa: E402

PAGE, TREES = DOCS / "benchmarks.md", DOCS / "boosting.md"
ADULT, ACS = "adult_all/sex", "acs_part/sex"
SMALL = {"compas/race": "COMPAS", "law/race": "Law", "german/sex": "German"}
BASES = {"logistic": "logistic regression", "boosted": "XGBoost"}
PANELS = [(base, notion) for notion in NOTIONS for base in BASES]
PEERS = ("linear_post", "oxonfair", "reduction", "thresholds", "error_parity")
QUOTED = ("0.1", "0.06", "0.02", "0.01", "0.001")  # alphas of LinearPost whose figures are shown


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown."""
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows)]
    return "\n".join(lines)


def pair(found: pd.DataFrame) -> str:
    """Return accuracy and gap, with intervals."""
    return f"{shown(found['accuracy'])} at {shown(found['gap'], 3)}" if len(found) else "-"


def results(part: pd.DataFrame) -> str:
    """Return accuracy at test gap of every method, at each limit; OTF has strengths instead."""
    limits = sorted(set(part[part["method"] == "plain"]["setting"]), reverse=True)
    free = pair(part[part["method"] == "free"])
    rows = [["no limit", free, *[""] * (len(limits) - 1)]]
    for name, method in METHODS.items():
        found = part[part["method"] == name]
        if not len(found):
            continue
        if name == "otf":
            strengths = sorted(set(found["setting"]))[-len(limits) :]
            cells = [
                f"alpha {number(s, 2)}: {pair(found[found['setting'] == s])}" for s in strengths
            ]
        elif set(found["setting"]) == {0.0}:
            cells = [f"gap of 0 only: {pair(found)}", *[""] * (len(limits) - 1)]
        else:
            cells = [pair(found[found["setting"] == x]) for x in limits]
        count = len(data.seeds(part, name))
        most = len(data.seeds(part, "free"))
        rows.append(
            [method.title + (f" ({count} of {most} splits)" if count < most else ""), *cells]
        )
    return table(["", *[f"limit {number(x, 2)}" for x in limits]], rows)


def leads(panels: dict[str, pd.DataFrame], ours: str, peers: list[str]) -> str:
    """Return our accuracy less that of peers, at the gaps that the peers have."""
    rows = []
    for peer in peers:
        cells = []
        for part in panels.values():
            # Against a peer that uses the attribute, ours uses it too.
            own = "attribute" if METHODS[peer].attribute else ours
            there = (part["method"] == peer).any() and (part["method"] == own).any()
            cells.append(data.lead(part, own, peer).text if there else "-")
        rows.append([METHODS[peer].title, *cells])
    return table(["ahead of", *panels], rows)


def costs(part: pd.DataFrame) -> str:
    """Return what methods take: seconds of processor, the attribute, chance."""
    rows = []
    free = part[part["method"] == "free"]
    rows.append(
        ["no limit", "no", "yes", duration(free["train"].mean()), duration(free["predict"].mean())]
    )
    for name, method in METHODS.items():
        found = part[part["method"] == name]
        if not len(found):
            continue
        train, predict = (found[c].mean() for c in ("train", "predict"))
        rows.append(
            [method.title, "**yes**" if method.attribute else "no", method.rule,
             duration(train), duration(predict)]
        )  # fmt: skip
    return table(
        ["", "attribute needed to predict", "deterministic", "to train", "to predict"], rows
    )


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it."""
    return f"{1e3 * seconds:.2g} ms" if seconds < 0.1 else f"{seconds:.2g} s"


def quoted(runs: pd.DataFrame) -> str:
    """Return ours at the gaps that LinearPost's authors published."""
    rows, known = [], data.published()
    for base, notion in PANELS:
        part = of(runs, ADULT, base, notion)
        own = known[(known["table"] == "adult") & (known["base"] == base)]
        own = own[(own["notion"] == notion) & (own["method"] == "LinearPost")]
        name = f"{BASES[base]}, {NOTIONS[notion]}"
        for row in own.itertuples():
            if f"{float(row.setting):g}" not in QUOTED:
                continue
            cells = [data.at(row.gap, data.curve(part, m)) for m in ("plain", "on_top")]
            cells = ["-" if np.isnan(c) else number(c) for c in cells]
            rows.append([name, number(row.gap, 3), number(row.accuracy), *cells])
            name = ""
    head = ["", "gap, as published", "LinearPost, as published", "FairDecisions, no margin"]
    return table([*head, "FairDecisions on OTF"], rows)


def lowest(runs: pd.DataFrame) -> str:
    """Return the lowest gap of equalized odds of each method, and of what was published."""
    known = data.published()
    known = known[(known["table"] == "adult") & (known["notion"] == ODDS)]
    rows = []
    for name in data.BLIND:
        cells = []
        for base in BASES:
            part = of(runs, ADULT, base, ODDS)
            means = part[part["method"] == name].groupby("setting")[["gap", "accuracy"]].mean()
            best = means.loc[means["gap"].idxmin()]
            cells.append(f"{number(best['gap'], 3)} at an accuracy of {number(best['accuracy'])}")
        rows.append([METHODS[name].title, *cells])
    for name in dict.fromkeys(known["method"]):
        cells = []
        for base in BASES:
            own = known[(known["method"] == name) & (known["base"] == base)]
            best = own.loc[own["gap"].idxmin()]
            cells.append(f"{number(best['gap'], 3)} at an accuracy of {number(best['accuracy'])}")
        rows.append([f"{name}, as published", *cells])
    return table(["lowest gap", *BASES.values()], rows)


def everywhere(panels: dict[str, pd.DataFrame], ours: str, peer: str) -> str:
    """Say how ours stands to a peer in each panel, panels of one answer together."""
    places: dict[str, list[str]] = {}
    for name, part in panels.items():
        places.setdefault(data.lead(part, ours, peer).word, []).append(name)
    if len(places) == 1:
        return next(iter(places)) + " everywhere"
    return "; ".join(f"{word} ({', '.join(own)})" for word, own in places.items())


def summary(runs: pd.DataFrame, trained: pd.DataFrame) -> str:
    """Return where we win and where we lose, in at most ten lines."""
    short = {PARITY: "parity", ODDS: "odds"}
    adult = {
        f"{short[n]} by {'trees' if b == 'boosted' else b}": of(runs, ADULT, b, n)
        for b, n in PANELS
    }
    acs = {short[n]: of(runs, ACS, "boosted", n) for n in NOTIONS}
    small = {title: of(runs, name, "logistic", PARITY) for name, title in SMALL.items()}
    lines = {
        "Adult, `FairDecisions` against LinearPost's own code": everywhere(
            adult, "plain", "linear_post"
        ),
        "Adult, against OxonFair with inferred groups": everywhere(adult, "plain", "oxonfair"),
        "Adult, against ExponentiatedGradient, which decides by chance": everywhere(
            adult, "plain", "reduction"
        ),
        "Adult, `FairDecisions` on a model trained with OTF against on a plain one": everywhere(
            adult, "on_top", "plain"
        ),
        "ACSIncome, post-processing (`FairDecisions`) against boosting with OTF alone": everywhere(
            acs, "plain", "otf"
        ),
        "ACSIncome, with the attribute, against ThresholdOptimizer": everywhere(
            acs, "attribute", "thresholds"
        ),
        "Small tables, against LinearPost": everywhere(small, "plain", "linear_post"),
        **nets.summary(trained),
    }
    return "\n".join(f"- **{where}**: {what}." for where, what in lines.items())


def made(runs: pd.DataFrame, trained: pd.DataFrame) -> dict[str, str]:
    """Return what stands between the marks of the page."""
    adult = {
        f"{BASES[b]}, {NOTIONS[n]}": of(runs, ADULT, b, n) for b, n in PANELS
    }  # fmt: skip
    posts = {NOTIONS[n]: of(runs, ACS, "boosted", n) for n in NOTIONS}
    small = {
        f"{title}, {BASES[b]}": of(runs, name, b, PARITY) for name, title in SMALL.items()
        for b in BASES
    }  # fmt: skip
    parts = {
        "run": run(runs, trained, adult, posts, small),
        "summary": summary(runs, trained),
        "adult leads": leads(adult, "plain", list(PEERS)),
        "adult on top": leads(adult, "on_top", ["plain", "otf", *PEERS[:3]]),
        "adult published": quoted(runs),
        "adult lowest": lowest(runs),
        "adult costs": costs(pd.concat([p for k, p in adult.items() if "XGBoost" in k])),
        "posts leads": leads(posts, "plain", ["otf", "reduction", "linear_post", "oxonfair"]),
        "posts both": leads(posts, "on_top", ["plain"]),
        "posts aware": leads(posts, "plain", ["thresholds", "error_parity"]),
        "posts costs": costs(pd.concat(posts.values())),
        "small leads": leads(small, "plain", ["otf", *PEERS]),
        "small costs": costs(small[f"Law, {BASES['boosted']}"]),
        **nets.made(trained),
    }
    for (base, notion), part in zip(PANELS, adult.values()):
        parts[f"adult {base} {notion}"] = results(part)
    for notion, part in zip(NOTIONS, posts.values()):
        parts[f"posts {notion}"] = results(part)
    for (name, title), base in ((s, b) for s in SMALL.items() for b in BASES):
        parts[f"small {title} {base}"] = results(of(runs, name, base, PARITY))
    return parts


def run(runs: pd.DataFrame, trained: pd.DataFrame, *tables: dict[str, pd.DataFrame]) -> str:
    """Say when and of what the runs are, and of how many splits."""
    adult, posts, small = (spans(parts) for parts in tables)
    commits = sorted(set(runs["commit"]) | set(trained["commit"]))
    days = sorted(set(runs["date"]) | set(trained["date"]))
    return (
        f"Made with `make bench-tables`: {' and '.join(days)}, library of commit "
        f"{', '.join(commits)}, one thread. Splits: Adult {adult}, ACSIncome of decisions {posts}, "
        f"small tables {small}, networks {trained['seed'].nunique()}."
    )


def spans(panels: dict[str, pd.DataFrame]) -> str:
    """Say how many splits methods have: the fewest and the most."""
    counts = {
        len(data.seeds(part, method)) for part in panels.values() for method in set(part["method"])
    }
    low, high = min(counts), max(counts)
    return f"{low}" if low == high else f"{low} to {high}"


def filled(page: str, parts: dict[str, str], name: str) -> str:
    """Return the page with its tables made anew."""
    for key, text in parts.items():
        mark = re.compile(rf"(<!-- {key} -->\n)(?:(?!<!--).)*(<!-- end -->)", re.DOTALL)
        if len(mark.findall(page)) != 1:
            raise ValueError(f"{name} must have one place for {key!r}: <!-- {key} --> <!-- end -->")
        page = mark.sub(lambda found, text=text: f"{found[1]}{text}\n{found[2]}", page)
    return page


def main() -> None:
    """Fill the pages, and draw the figures."""
    runs, trained = data.decisions(), data.networks()
    parts = made(runs, trained)
    PAGE.write_text(filled(PAGE.read_text("utf-8"), parts, PAGE.name), "utf-8")
    shared = {"posts leads": parts["posts leads"], "posts both": parts["posts both"]}
    TREES.write_text(filled(TREES.read_text("utf-8"), shared, TREES.name), "utf-8")
    adult = {f"{BASES[b]}, {NOTIONS[n]}": (of(runs, ADULT, b, n), b, n) for b, n in PANELS}
    figures.adult(adult).savefig(DOCS / "_static" / "benchmarks_adult.png", dpi=110)
    posts = {NOTIONS[n]: of(runs, ACS, "boosted", n) for n in NOTIONS}
    figures.posts(posts).savefig(DOCS / "_static" / "benchmarks_posts.png", dpi=110)
    small = {t: of(runs, name, "logistic", PARITY) for name, t in SMALL.items()}
    figures.small(small).savefig(DOCS / "_static" / "benchmarks_small.png", dpi=110)
    figures.networks(trained).savefig(DOCS / "_static" / "benchmarks_networks.png", dpi=110)


if __name__ == "__main__":
    main()
