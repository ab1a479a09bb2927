"""Demographic parity: mean scores are equal between groups."""

from __future__ import annotations

from otfair.notions._base import GroupNotion


class DemographicParity(GroupNotion):
    """Mean scores are equal between groups, and uncorrelated with continuous attributes (PDP).

    Parameters
    ----------
    columns : str, int or sequence of them, default=()
        Names (or positions) of the columns that the notion speaks of; all by default. So
        ``EqualizedOdds(columns="sex") & DemographicParity(columns="age")`` asks for one each.
    continuous, categorical : str, int or sequence of them, default=()
        Columns that are numbers, or groups, where the default reading of their type is not meant.
    intersectional : bool, default=False
        Cross the categorical columns into one (``"sex=Female & race=Black"``).
    encoded : bool, default=False
        The columns are numeric, and those of zeros and ones are groups, as in a one-hot matrix; a
        group may be absent.

    Examples
    --------
    >>> from otfair import DemographicParity
    >>> c = DemographicParity().constraints({"sex": ["Female", "Male", "Male", "Male"]})
    >>> c.names
    ('sex=Female', 'sex=Male')
    >>> c.matrix.round(3)
    array([[ 3.   , -1.   , -1.   , -1.   ],
           [-1.   ,  0.333,  0.333,  0.333]])
    """

    name = "demographic_parity"
    title = "demographic parity"
    meaning = "Mean scores should not depend on the attribute."
