"""Write the page of results and its pictures from the runs that are committed beside it."""

from __future__ import annotations

from pathlib import Path

from otfair.reproduction import read_csv, write_figures, write_page

DOCS = Path(__file__).parent
PICTURES = "_static/results"


def main() -> None:
    """Read docs/results.csv; write docs/results.md and the PNG figures."""
    runs = read_csv(DOCS / "results.csv")
    for path in write_figures(runs, DOCS / PICTURES):
        if path.suffix == ".pdf":
            path.unlink()
    write_page(runs, DOCS / "results.md", figures=PICTURES)


if __name__ == "__main__":
    main()
