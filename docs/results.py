"""Write the page of results, its pictures and where OTF stands, from the committed runs."""

from __future__ import annotations

from pages import DOCS, fill

from otfair.reproduction import Result, read_csv, to_frame, write_figures, write_page
from otfair.reproduction._stands import reading, stands, verdict

PICTURES = "_static/results"
FIRST_PAGES = DOCS.parent / "README.md", DOCS / "index.md"


def where_it_stands(runs: list[Result]) -> dict[str, str]:
    """Return for the first pages a verdict, what its words mean, and the lines behind it."""
    frame = to_frame(runs)
    return {
        "verdict": verdict(frame),
        "reading": reading(frame),
        "stands": "\n".join(f"- {line}" for line in stands(frame)),
    }


def main() -> None:
    """Read docs/results.csv; write docs/results.md, the PNG figures and part of the first pages."""
    runs = read_csv(DOCS / "results.csv")
    for path in write_figures(runs, DOCS / PICTURES):
        if path.suffix == ".pdf":
            path.unlink()
    write_page(runs, DOCS / "results.md", figures=PICTURES)
    for page in FIRST_PAGES:
        fill(page, where_it_stands(runs))


if __name__ == "__main__":
    main()
