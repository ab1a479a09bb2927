"""Write the tables and figures of docs/benchmarks.md from the runs that are committed."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
from benchmark_page import figures
from benchmark_page import networks as nets
from benchmark_page import runs as data
from benchmark_page.runs import METHODS, NOTIONS, ODDS, PARITY, of
from pages import DOCS, fill, mean_and_reach, number, shown, table

PAGE, TREES = DOCS / "benchmarks.md", DOCS / "boosting.md"
SHARED = ("posts leads", "posts both")  # with the page on trees
ADULT, ACS = "adult_all/sex", "acs_part/sex"
SMALL = {"compas/race": "COMPAS", "law/race": "Law", "german/sex": "German"}
BASES = {"logistic": "logistic regression", "boosted": "XGBoost"}
PANELS = [(base, notion) for notion in NOTIONS for base in BASES]
PEERS = ("linear_post", "oxonfair", "reduction", "thresholds", "error_parity")
# Alphas of LinearPost whose figures are shown.
QUOTED = ("0.1", "0.06", "0.04", "0.02", "0.01", "0.001")


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


def costs(panels: dict[str, pd.DataFrame]) -> str:
    """Return what methods take: the attribute, chance, seconds of training and of predicting."""
    rows = []
    for name, title, attribute, rule in (
        ("free", "no limit", False, "yes"),
        *((k, m.title, m.attribute, m.rule) for k, m in METHODS.items()),
    ):
        found = [part[part["method"] == name] for part in panels.values()]
        cells = [" + ".join(duration(own[c].mean()) for c in ("train", "predict")) for own in found]
        rows.append([title, "**yes**" if attribute else "no", rule, *cells])
    return table(["", "attribute needed to predict", "deterministic", *panels], rows)


def by_base(panels: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the runs of panels together, by classifier."""
    return {
        title: pd.concat([part for key, part in panels.items() if title in key])
        for title in BASES.values()
    }


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it."""
    return f"{1e3 * seconds:.2g} ms" if seconds < 0.1 else f"{seconds:.2g} s"


def at_most(gap: float, mean: pd.DataFrame) -> str:
    """Return the accuracy of a curve at a gap; if it never has so large a one, at its largest."""
    largest = mean.iloc[-1]
    if gap > largest["gap"] + data.NEAR:
        return f"{number(largest['accuracy'])}, gap {number(largest['gap'], 3)}"
    found = data.at(gap, mean)
    return "-" if np.isnan(found) else number(found)


def aim(panels: dict[str, pd.DataFrame]) -> str:
    """Say at how many settings of peers that do without the attribute ours is not below."""
    level, total, lower, below = 0, 0, 0, []
    for peer in PEERS:
        if METHODS[peer].attribute:
            continue
        for where, part in panels.items():
            lead = data.lead(part, "plain", peer)
            found, lower = lead.settings, lower + lead.missed
            behind = int((found <= -data.LEVEL).sum())
            level, total = level + len(found) - behind, total + len(found) + lead.missed
            if behind:
                below.append(f"{METHODS[peer].title} at {behind} of {len(found)} ({where})")
    missed = f"; below {', '.join(below)}" if below else ""
    return (
        f"{'met' if level == total else 'missed'}. Ours is level or above at {level} of {total} "
        f"settings of theirs, {lower} have gaps lower than "
        f"any of ours{missed}"
    )


def several(
    trained: pd.DataFrame, *tables: tuple[dict[str, pd.DataFrame], str, tuple[str, ...]]
) -> str:
    """Say how many of the leads' intervals leave out zero, and how many would by chance."""
    leads = nets.every_lead(trained)
    for panels, ours, peers in tables:
        for part, peer in product(panels.values(), peers):
            own = "attribute" if METHODS[peer].attribute else ours
            values = data.lead(part, own, peer).values
            leads += [values] if len(values) > 1 else []
    reached = [abs(mean) > reach for mean, reach in map(mean_and_reach, leads)]
    return (
        f"Of the {len(reached)} intervals of leads on this page {sum(reached)} leave out zero, "
        f"where about {len(reached) / 20:.0f} would by chance: no single lead is proof."
    )


def attribute_odds(runs: pd.DataFrame) -> str:
    """Say how low the gap of odds comes at best, with the attribute."""
    said, behind = [], []
    for base, title in BASES.items():
        part = of(runs, ADULT, base, ODDS)
        lowest = part.groupby(["method", "setting"])["gap"].mean().groupby("method").min()
        ours, *peers = (lowest[name] for name in ("attribute", "error_parity", "thresholds"))
        behind.append(ours > min(peers))
        said.append(
            f"by {title} {number(ours, 3)}, where error-parity has {number(peers[0], 3)} and "
            f"ThresholdOptimizer {number(peers[1], 3)}"
        )
    word = "behind" if all(behind) else "in part behind" if any(behind) else "not behind"
    return (
        f"**{word}**. The lowest gap of `FairDecisions`, which never decides by chance, is "
        f"{'; '.join(said)}"
    )


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
            cells = [at_most(row.gap, data.curve(part, m)) for m in ("plain", "on_top")]
            rows.append([name, number(row.gap, 3), number(row.accuracy), *cells])
            name = ""
    head = ["", "gap, as published", "LinearPost, as published", "FairDecisions, no margin"]
    return table([*head, "FairDecisions on OTF"], rows)


def against_published(runs: pd.DataFrame) -> str:
    """Say at how many of LinearPost's published points, which none of its own beats, ours is."""
    known, above, lower, below = data.published(), 0, 0, []
    for base, notion in PANELS:
        part = of(runs, ADULT, base, notion)
        both = pd.concat([data.curve(part, m) for m in ("plain", "margin")])
        mean = data.unbeaten(both)
        own = known[(known["table"] == "adult") & (known["base"] == base)]
        own = own[(own["notion"] == notion) & (own["method"] == "LinearPost")]
        for row in data.unbeaten(own).itertuples():
            found = data.at(min(row.gap, mean["gap"].max()), mean)
            if np.isnan(found):
                lower += 1
            elif found > row.accuracy - data.LEVEL:
                above += 1
            else:
                below.append(
                    f"{number(row.accuracy)} at {number(row.gap, 3)} where ours has "
                    f"{number(found)} ({BASES[base]}, {NOTIONS[notion]})"
                )
    rest = f", below at {len(below)}: {'; '.join(below)}" if below else ""
    return (
        f"Of the {above + lower + len(below)} points that LinearPost's authors published, and that "
        "none of their own beats, `FairDecisions` with or without its margin is level or above at "
        f"{above}, does not come so low at {lower}{rest}."
    )


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
    return data.together({k: data.lead(part, ours, peer).word for k, part in panels.items()})


def summary(runs: pd.DataFrame, trained: pd.DataFrame) -> str:
    """Return where we win and where we lose, in at most ten lines."""
    short = {PARITY: "parity", ODDS: "odds"}
    adult = {
        f"{short[n]} by {'trees' if b == 'boosted' else b}": of(runs, ADULT, b, n)
        for b, n in PANELS
    }
    acs = {short[n]: of(runs, ACS, "boosted", n) for n in NOTIONS}
    small = {
        f"{title} by {'trees' if b == 'boosted' else b}": of(runs, name, b, PARITY)
        for name, title in SMALL.items() if title != "German" for b in BASES
    }  # fmt: skip
    lines = {
        "Aim on Adult, at or above every entry that does without the attribute, at every gap": aim(
            adult
        ),
        "Adult, `FairDecisions` without the attribute": f"against LinearPost's own code "
        f"{everywhere(adult, 'plain', 'linear_post')}; against OxonFair with inferred groups "
        f"{everywhere(adult, 'plain', 'oxonfair')}; against ExponentiatedGradient, which decides "
        f"by chance, {everywhere(adult, 'plain', 'reduction')}",
        "Adult, `FairDecisions` on a model trained with OTF against on a plain one": everywhere(
            adult, "on_top", "plain"
        ),
        "ACSIncome, post-processing (`FairDecisions`) against boosting with OTF alone": everywhere(
            acs, "plain", "otf"
        ),
        "ACSIncome, with the attribute": f"against error-parity "
        f"{everywhere(acs, 'attribute', 'error_parity')}; against ThresholdOptimizer "
        f"{everywhere(acs, 'attribute', 'thresholds')}",
        "Adult, odds with the attribute": attribute_odds(runs),
        "COMPAS and Law, against LinearPost": everywhere(small, "plain", "linear_post"),
        **nets.summary(trained, data.networks(all_people=True)),
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
        "adult against published": against_published(runs),
        "adult costs": costs(by_base(adult)),
        "posts leads": leads(posts, "plain", ["otf", "reduction", "linear_post", "oxonfair"]),
        "posts both": leads(posts, "on_top", ["plain"]),
        "posts aware": leads(posts, "plain", ["thresholds", "error_parity"]),
        "posts costs": costs({BASES["boosted"]: pd.concat(posts.values())}),
        "small leads": leads(small, "plain", ["otf", *PEERS]),
        "small costs": costs(small),
        "several": several(
            trained,
            (adult, "plain", PEERS),
            (adult, "on_top", ("plain", "otf", *PEERS[:3])),
            (posts, "plain", ("otf", *PEERS)),
            (posts, "on_top", ("plain",)),
            (small, "plain", ("otf", *PEERS)),
        ),
        **nets.made(trained, data.networks(all_people=True)),
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


def main() -> None:
    """Fill the pages, and draw the figures."""
    runs, trained = data.decisions(), data.networks()
    parts = made(runs, trained)
    fill(PAGE, parts)
    fill(TREES, {name: parts[name] for name in SHARED})
    adult = {f"{BASES[b]}, {NOTIONS[n]}": (of(runs, ADULT, b, n), b, n) for b, n in PANELS}
    figures.adult(adult).savefig(DOCS / "_static" / "benchmarks_adult.png", dpi=110)
    posts = {NOTIONS[n]: of(runs, ACS, "boosted", n) for n in NOTIONS}
    figures.posts(posts).savefig(DOCS / "_static" / "benchmarks_posts.png", dpi=110)
    small = {t: of(runs, name, "logistic", PARITY) for name, t in SMALL.items()}
    figures.small(small).savefig(DOCS / "_static" / "benchmarks_small.png", dpi=110)
    for name, part in (("networks", trained), ("networks_all", data.networks(all_people=True))):
        figures.networks(part).savefig(DOCS / "_static" / f"benchmarks_{name}.png", dpi=110)


if __name__ == "__main__":
    main()
