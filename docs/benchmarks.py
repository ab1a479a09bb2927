"""Write the tables and figures of docs/benchmarks.md from the runs that are committed."""

from __future__ import annotations

import pandas as pd
from benchmark_page import figures, tables, words
from benchmark_page import networks as nets
from benchmark_page import runs as data
from benchmark_page.runs import ACS, ADULT, BASES, NOTIONS, PANELS, PARITY, PEERS, SMALL, of
from pages import DOCS, fill

PAGE, TREES = DOCS / "benchmarks.md", DOCS / "boosting.md"
SHARED = ("posts leads", "posts both")  # with the page on trees


def made(
    runs: pd.DataFrame, trained: pd.DataFrame, all_people: pd.DataFrame | None = None
) -> dict[str, str]:
    """Return what stands between the marks of the page."""
    all_people = data.networks(all_people=True) if all_people is None else all_people
    adult = {f"{BASES[b]}, {NOTIONS[n]}": of(runs, ADULT, b, n) for b, n in PANELS}
    posts = {NOTIONS[n]: of(runs, ACS, "boosted", n) for n in NOTIONS}
    small = {
        f"{title}, {BASES[b]}": of(runs, name, b, PARITY) for name, title in SMALL.items()
        for b in BASES
    }  # fmt: skip
    compared = {
        "adult leads": (adult, "plain", PEERS),
        "adult on top": (adult, "on_top", ("plain", "otf", *PEERS[:3])),
        "posts leads": (posts, "plain", ("otf", "reduction", "linear_post", "oxonfair")),
        "posts both": (posts, "on_top", ("plain",)),
        "posts aware": (posts, "plain", ("thresholds", "error_parity")),
        "small leads": (small, "plain", ("otf", *PEERS)),
    }
    parts = {
        "run": words.run(runs, trained, all_people, adult, posts, small),
        "summary": words.summary(runs, trained, all_people),
        "rule": words.rule(),
        "several": words.several(trained, *compared.values()),
        **{name: tables.leads(*what) for name, what in compared.items()},
        "adult against published": words.against_published(runs),
        "adult published": tables.quoted(runs),
        "adult lowest": tables.lowest(runs),
        "adult chance": words.by_chance(data.chance()),
        "aim": " ".join(words.aim(adult)),
        "adult costs": tables.costs(
            {f"{words.SHORT[n]} by {words.SHORT[b]}": of(runs, ADULT, b, n) for b, n in PANELS}
        ),
        "adult kept": tables.kept(
            {words.SHORT[n]: pd.concat([of(runs, ADULT, b, n) for b in BASES]) for n in NOTIONS}
        ),
        "posts costs": tables.costs({BASES["boosted"]: pd.concat(posts.values())}),
        "small costs": tables.costs(small),
        **nets.made(trained, all_people),
    }
    for (base, notion), part in zip(PANELS, adult.values()):
        parts[f"adult {base} {notion}"] = tables.results(part)
    for notion, part in zip(NOTIONS, posts.values()):
        parts[f"posts {notion}"] = tables.results(part)
    for (name, title), base in ((s, b) for s in SMALL.items() for b in BASES):
        parts[f"small {title} {base}"] = tables.results(of(runs, name, base, PARITY))
    return parts


def main() -> None:
    """Fill the pages, and draw the figures."""
    runs, trained, all_people = data.decisions(), data.networks(), data.networks(all_people=True)
    parts = made(runs, trained, all_people)
    fill(PAGE, parts)
    fill(TREES, {name: parts[name] for name in SHARED})
    drawn = {
        "adult": figures.adult(runs), "posts": figures.posts(runs), "small": figures.small(runs),
        "networks": figures.networks(trained), "networks_all": figures.networks(all_people),
    }  # fmt: skip
    for name, figure in drawn.items():
        figure.savefig(DOCS / "_static" / f"benchmarks_{name}.png", dpi=110)


if __name__ == "__main__":
    main()
