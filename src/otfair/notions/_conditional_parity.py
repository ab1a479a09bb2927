"""Conditional parity: demographic parity within the strata of control features."""

from __future__ import annotations

from dataclasses import dataclass

from otfair._io.arrays import Array, same_length
from otfair.notions._attributes import Strata, cross, read_group
from otfair.notions._base import GroupNotion
from otfair.tables import Column, Columns, chosen_names, named, to_columns


@dataclass(frozen=True, kw_only=True)
class ConditionalParity(GroupNotion):
    """Demographic parity within the strata of a control feature.

    Parameters
    ----------
    columns, continuous, categorical : str, int or sequence of them, default=()
        As for `DemographicParity`.
    intersectional, encoded : bool, default=False
        As for `DemographicParity`.
    control : str, int or sequence of them, default=()
        Names (or positions) of the columns of `sensitive_features` that make the strata. Without
        them `labels` holds each person's stratum, which may be any category.

    Examples
    --------
    >>> from otfair import ConditionalParity
    >>> table = {"sex": ["F", "M", "F", "M"], "job": ["cook", "cook", "clerk", "clerk"]}
    >>> ConditionalParity(control="job").constraints(table).names
    ('sex=F | job=clerk', 'sex=M | job=clerk', 'sex=F | job=cook', 'sex=M | job=cook')
    """

    name = "conditional_parity"
    title = "conditional parity"
    meaning = (
        "Among people alike in what it is conditioned on (named after each group), mean scores "
        "should not depend on the attribute."
    )
    needs_control = True

    control: Columns = ()

    def _strata(self, columns: list[Column], labels: Array, n: int) -> tuple[Strata, list[Column]]:
        chosen = chosen_names(self.control, columns, "control")
        if chosen:
            control = [c for c in columns if c.name in chosen]
            columns = [c for c in columns if c.name not in chosen]
        elif labels is None:
            raise ValueError(
                "ConditionalParity needs the strata: name columns of `sensitive_features` with "
                '`ConditionalParity(control="...")`, or pass each person\'s stratum as `labels`.'
            )
        else:
            control = named(to_columns(labels, "labels"), "stratum")
            same_length("labels", len(control[0].values), n)
        (strata,) = cross([read_group(column) for column in control])
        return Strata(strata.codes, strata.value_names()), columns
