"""Take the pictures of the README: the report on made-up loans, as a browser shows it.

    .venv/bin/python docs/screenshots.py

Chromium must be there; scripts/chromium.sh installs it.
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image

import otfair

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from browser import Browser  # noqa: E402

WIDTH = 1000
SHOTS = {  # file: (from, to) elements, which the picture goes from the top of
    "report_top.png": ("body", "p.note + h3"),
    "report_summary.png": ("body", "#a1"),
    "report_counterparts.png": ("#f2_1 h4:nth-of-type(2)", "#f2_1p > tbody > tr:nth-child(2)"),
}


def main() -> None:
    """Audit, open the report, and write the pictures."""
    data = otfair.load_dataset("synthetic", n=3000)
    people = data.sensitive_features[["sex", "origin"]]
    found = otfair.audit(
        data.truth.scores, data.X, sensitive_features=people, labels=data.y, favourable=1
    )
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.html"
        found.to_html(report)
        with Browser() as browser:
            browser.open(report, width=WIDTH, height=900)
            browser.page.click("#f2_1 details.section summary")  # where it happens, folded away
            for name, (first, last) in SHOTS.items():
                top, end = (
                    browser.run(
                        f"document.querySelector('{place}').getBoundingClientRect().top + scrollY"
                    )
                    for place in (first, last)
                )
                clip = {"x": 0, "y": top, "width": WIDTH, "height": int(end - top)}
                shot = Image.open(io.BytesIO(browser.page.screenshot(full_page=True, clip=clip)))
                few = shot.convert("P", palette=Image.Palette.ADAPTIVE, colors=64)
                path = Path(__file__).parent / "_static" / name
                few.save(path, optimize=True)
                print(path.relative_to(ROOT), f"{path.stat().st_size / 1024:.0f} KB")


if __name__ == "__main__":
    main()
