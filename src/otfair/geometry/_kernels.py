"""Compiled loops: passes over boxes of people that are near.

Maths: docs/derivation.md, section 17. They are plain loops over NumPy's arrays, compiled by Numba
when they are first called, and hold no lock, so that threads share the work.

Costs are increasing functions of a sum over columns: of squares (`kind` ROOT, whose root is taken,
and SQUARE) or of absolute differences (SUM), in units of epsilon by `factor`.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from otfair.geometry._tree import compiled

ROOT, SQUARE, SUM = 0, 1, 2
SLACK = 1 + 1e-12  # of sums, for what rounding may take


def inlined(function: Any) -> Any:
    """Put a function's code where it is called; to pass a tree would take longer than to use it."""
    return numba.njit(inline="always")(function)


@inlined
def part(gap, kind):  # type: ignore[no-untyped-def]
    """Return what a difference in one column adds to a sum."""
    return gap if kind == SUM else gap * gap


@inlined
def cost_of(total, kind, factor):  # type: ignore[no-untyped-def]
    """Return the cost of a sum."""
    return math.sqrt(total) * factor if kind == ROOT else total * factor


@inlined
def sum_of(cost, kind, factor):  # type: ignore[no-untyped-def]
    """Return a sum above those of a cost."""
    return ((cost / factor) ** 2 if kind == ROOT else cost / factor) * SLACK


@inlined
def tied(total, kind, tie):  # type: ignore[no-untyped-def]
    """Return the largest sum that is equal to another but for rounding.

    `tie` is a share of a distance, and a distance.
    """
    if kind == SUM:
        return total * (1 + tie[0]) + tie[1]
    return (math.sqrt(total) * (1 + tie[0]) + tie[1]) ** 2


@inlined
def outside(x, node, fixed, most, tree, kind):  # type: ignore[no-untyped-def]
    """Return the sum over columns in which a node's people are alike, and a bound on all sums.

    `fixed` is the former for its parent. Both may end where they reach `most`.
    """
    for r in range(tree.alike[node, 0], tree.alike[node, 1]):
        fixed += part(abs(x[tree.alike_column[r]] - tree.alike_value[r]), kind)
        if fixed >= most:
            break
    bound = fixed
    if fixed < most:
        for r in range(tree.vary[node, 0], tree.vary[node, 1]):
            own = x[tree.vary_column[r]]
            bound += part(max(tree.low[r] - own, own - tree.high[r], 0.0), kind)
    return fixed, bound


@inlined
def next_leaf(x, node, fixed, bound, waiting, most, tree, kind):  # type: ignore[no-untyped-def]
    """Take nodes that wait, the nearer first, up to a leaf with a bound below `most`.

    Returns where it is, behind those that wait then, or -1, and how many nodes were looked at.
    """
    seen, found = 0, -1
    while waiting > 0 and found < 0:
        waiting -= 1
        here, own = node[waiting], fixed[waiting]
        if bound[waiting] >= most:
            continue
        if tree.right[here] == 0:
            found = waiting
            continue
        child, top = tree.right[here], waiting
        for _ in range(2):
            node[top], (fixed[top], bound[top]) = child, outside(x, child, own, most, tree, kind)
            child, top = here + 1, top + 1
        if bound[waiting] < bound[waiting + 1]:
            for some in (fixed, bound):
                some[waiting], some[waiting + 1] = some[waiting + 1], some[waiting]
            node[waiting], node[waiting + 1] = here + 1, tree.right[here]
        seen, waiting = seen + 2, waiting + 2
    return found, seen


@inlined
def sums(x, leaf, fixed, tree, kind, found):  # type: ignore[no-untyped-def]
    """Set the sums from x to the people of a leaf, and return how many they are."""
    size, begin = tree.stop[leaf] - tree.start[leaf], tree.first[leaf]
    found[:size] = fixed
    for r in range(tree.vary[leaf, 0], tree.vary[leaf, 2]):
        own, values = x[tree.vary_column[r]], tree.values[begin : begin + size]
        for j in range(size):
            found[j] += part(abs(values[j] - own), kind)
        begin += size
    return size


@inlined
def table(tree):  # type: ignore[no-untyped-def]
    """Return room for nodes that wait, their two sums, and the sums of a leaf."""
    size = tree.depth + 2
    return np.zeros(size, np.int64), np.empty(size), np.empty(size), np.empty(tree.largest)


@compiled
def soft_pass(places, rows, tree, kind, factor, weight, far, out):  # type: ignore[no-untyped-def]
    """Set -log sum w exp(-cost) of each row, (b,), and return how many were visited.

    `far` is by how much a cost must exceed this distance not to count.
    """
    visits, (node, fixed, bound, found) = 0, table(tree)
    for i in range(len(rows)):
        x, least, total, most = places[rows[i]], np.inf, 0.0, np.inf
        node[0], (fixed[0], bound[0]) = 0, outside(x, 0, 0.0, most, tree, kind)
        waiting = 1
        while True:
            waiting, seen = next_leaf(x, node, fixed, bound, waiting, most, tree, kind)
            visits += seen
            if waiting < 0:
                break
            begin = tree.start[node[waiting]]
            size = sums(x, node[waiting], fixed[waiting], tree, kind, found)
            visits += size
            for j in range(size):
                if found[j] < most:
                    cost = cost_of(found[j], kind, factor)
                    if cost < least:
                        least, total = cost, total * math.exp(cost - least)
                    total += weight[begin + j] * math.exp(least - cost)
            if total > 0.0:
                most = sum_of(least - math.log(total) + far, kind, factor)
        out[i] = least - math.log(total) if total > 0.0 else np.inf
    return visits


@compiled
def nearest_pass(  # type: ignore[no-untyped-def]
    places, rows, tree, kind, factor, first, tie, out, where
):
    """Set the least cost of each row, and where in the tree it is, (b,) each.

    `first` (n,) are numbers of the people of the tree: of those who are as near, but for a `tie` as
    for `tied`, the first counts.
    """
    visits, (node, fixed, bound, found) = 0, table(tree)
    for i in range(len(rows)):
        x, best, most, who = places[rows[i]], np.inf, np.inf, 0
        node[0], (fixed[0], bound[0]) = 0, outside(x, 0, 0.0, best, tree, kind)
        waiting = 1
        while True:
            waiting, seen = next_leaf(x, node, fixed, bound, waiting, most, tree, kind)
            visits += seen
            if waiting < 0:
                break
            begin = tree.start[node[waiting]]
            size = sums(x, node[waiting], fixed[waiting], tree, kind, found)
            visits += size
            for j in range(size):
                if found[j] > most:
                    continue
                if tied(found[j], kind, tie) < best or first[begin + j] < first[who]:
                    who = begin + j
                if found[j] < best:
                    best, most = found[j], tied(found[j], kind, tie)
        out[i], where[i] = cost_of(best, kind, factor), who
    return visits


@compiled
def share_pass(  # type: ignore[no-untyped-def]
    places, rows, tree, kind, factor, weight, far, soft, mass, mean, received
):
    """Set the mean cost from each row, (b,), and add what each person receives, (n,).

    `soft` (b,) are the distances, by which shares are known, `mass` (b,) is what is sent, and
    `received` is per unit of weight. As distances are known to some accuracy only, shares are
    divided by their sum: what is sent is received.
    """
    node, fixed, bound, found = table(tree)
    who, share = np.empty(len(received), np.int64), np.empty(len(received))
    for i in range(len(rows)):
        x, most = places[rows[i]], sum_of(soft[i] + far, kind, factor)
        mean[i], total, near = 0.0, 0.0, 0
        node[0], (fixed[0], bound[0]) = 0, outside(x, 0, 0.0, most, tree, kind)
        waiting = 1
        while True:
            waiting, _ = next_leaf(x, node, fixed, bound, waiting, most, tree, kind)
            if waiting < 0:
                break
            begin = tree.start[node[waiting]]
            size = sums(x, node[waiting], fixed[waiting], tree, kind, found)
            for j in range(size):
                if found[j] < most:
                    cost = cost_of(found[j], kind, factor)
                    who[near], share[near] = begin + j, math.exp(soft[i] - cost)
                    part_of = weight[begin + j] * share[near]
                    total, mean[i], near = total + part_of, mean[i] + part_of * cost, near + 1
        if total > 0.0:
            mean[i] /= total
            for r in range(near):
                received[who[r]] += share[r] * mass[i] / total
