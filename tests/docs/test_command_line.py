"""The figure that docs/command_line.md has of the datasets."""

from __future__ import annotations

from page_scripts import says

import otfair
from otfair.tables._leaks import TOO_GOOD, single_auc


def test_the_best_single_column_of_the_datasets(data_home):
    found = []
    for name in otfair.list_datasets():
        data = otfair.load_dataset(name, *([] if name == "synthetic" else [data_home]))
        found += [single_auc(data.X[column], data.y) for column in data.X]
    says("command_line", f"The best column of the datasets here has {max(found):.2f}")
    says("command_line", f"with an AUC of {TOO_GOOD} or more")
