"""What a comparison of models found, as plain values, tables, JSON and a page."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from otfair._io.files import write_named
from otfair._io.rendering import to_json
from otfair.auditing._changes import LEVEL
from otfair.auditing.report._compared import compared_page
from otfair.metrics import Estimate


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One figure of each model, and how it differs from that of the first."""

    attribute: str  #: Name of the attribute; "" for a figure of all people.
    group: str  #: The group; "" for a figure of all groups.
    #: "auc", "accuracy", "selection_rate"; of an attribute, "demographic_parity violation",
    #: "difference" or "ratio", and the same of equalized odds; of a group, its rates.
    figure: str
    values: tuple[Estimate, ...]  #: Of each model.
    differences: tuple[Estimate, ...]  #: Of each model but the first, from the first.
    p_values: tuple[float, ...]  #: Of no difference, by chance, after Holm's correction.

    @property
    def beyond(self) -> tuple[bool, ...]:
        """Whether models differ from the first by more than chance explains."""
        return tuple(p <= LEVEL for p in self.p_values)


@dataclass(frozen=True, kw_only=True)
class Move:
    """Who of a group gains and who loses, if a model takes the place of the first."""

    model: str  #: The model.
    attribute: str  #: Name of the attribute; "" for all people.
    group: str  #: The group; "" for all people.
    people: int  #: How many they are.
    gained: int  #: How many are decided positively by this model alone.
    lost: int  #: How many are decided positively by the first alone.
    #: Of as many more gains than losses, or the reverse, by chance: McNemar's exact test.
    p_value: float
    beyond: bool  #: Whether it is beyond chance, by Holm's correction for all groups.
    score: Estimate  #: Mean change of their scores.


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What `compare_audits` found."""

    models: tuple[str, ...]  #: Their names; others are compared with the first.
    people: tuple[int, ...]  #: How many people were scored by each.
    paired: bool  #: Whether they are the same people.
    favourable: int | None  #: Which decision is good for people, where it is known.
    figures: tuple[Compared, ...]  #: Figures of all people, of attributes and of groups.
    moves: tuple[Move, ...]  #: Who gains and who loses; none where people differ.
    notes: tuple[str, ...]  #: What readers should know.
    settings: dict[str, object]  #: What was set, versions, and the checksum of each model's data.

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each figure.

        Returns
        -------
        DataFrame
            A column for each model, and for all but the first its difference with the ends of its
            interval, the p-value, and whether it is beyond chance.
        """
        rows = []
        for f in self.figures:
            row: dict[str, Any] = {"attribute": f.attribute, "group": f.group, "figure": f.figure}
            row |= {name: e.value for name, e in zip(self.models, f.values)}
            for name, d, p, beyond in zip(self.models[1:], f.differences, f.p_values, f.beyond):
                row |= {f"{name} difference": d.value, f"{name} low": d.low, f"{name} high": d.high}
                row |= {f"{name} p_value": p, f"{name} beyond": beyond}
            rows.append(row)
        return pd.DataFrame(rows)

    def moves_frame(self) -> pd.DataFrame:
        """Return one row for each model and group: who gains and who loses.

        Returns
        -------
        DataFrame
            The fields of `Move`.
        """
        rows = []
        for move in self.moves:
            row = asdict(move) | {"score_change": move.score.value}
            row |= {"score_low": move.score.low, "score_high": move.score.high}
            del row["score"]
            rows.append(row)
        return pd.DataFrame(rows)

    def to_json(self, path: str | Path | None = None) -> str:
        """Return everything as JSON, and write it to a file if one is named.

        Parameters
        ----------
        path : str or Path, default=None
            The file, replaced as a whole or not at all.

        Returns
        -------
        str
            The JSON.
        """
        return write_named(path, to_json(asdict(self), indent=1))

    def to_html(self, path: str | Path | None = None) -> str:
        """Return a page that needs nothing else, and write it if a file is named.

        Parameters
        ----------
        path : str or Path, default=None
            The file, replaced as a whole or not at all.

        Returns
        -------
        str
            The page.
        """
        return write_named(path, compared_page(self))
