"""`otfair demo`: fairer loan models, what they cost, and who would give score to whom.

Train a classifier on made-up loan applications without a penalty, with the norm of the
violations and with the OTF cost, at several strengths; compare them, and write the
curves (curve.png), what they say (demo.html) and an audit of the scores without a
penalty, the report that `otfair audit` writes (audit.html).

  otfair demo --output out
"""

from __future__ import annotations

import argparse
from pathlib import Path


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what `otfair demo` takes."""
    parser.add_argument("-o", "--output", type=Path, default=Path("out"), metavar="DIR",
                        help="folder of the files (default out)")  # fmt: skip
