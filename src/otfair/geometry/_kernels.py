"""Compiled loops: a tree of boxes around people, and passes over those boxes that are near.

Maths: docs/derivation.md, section 17. They are plain loops over NumPy's arrays, compiled by Numba
when they are first called, and hold no lock, so that threads share the work.

A tree is a list of nodes in the order in which one walks it, a node before its children: `start`
and `stop` are its people in `order`, `after` is the node behind all that are below it, and a leaf
is a node with `after` right behind it. `low` and `high` are the corners of its box.

Costs are increasing functions of a sum over features: of squares (`kind` ROOT, whose root is taken,
and SQUARE) or of absolute differences (SUM), in units of epsilon by `factor`.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

ROOT, SQUARE, SUM = 0, 1, 2
CHUNK = 64  # features after which a sum that is too large already ends; slices of them are
# where the compiler finds loops that it can do several steps of at once
SAMPLE, WHOLE = 512, 4096  # people by whom a node is split, of nodes with more than so many
OUTWARDS = 2e-7  # by which boxes are wider than their people, as they are kept in single precision
SLACK = 1 + 1e-12  # of sums, for what rounding may take
MATHS = {"reassoc", "contract", "nsz"}


def compiled(function: Any) -> Any:
    """Compile a function when it is first called, and keep the code for other processes."""
    try:
        return numba.njit(nogil=True, cache=True, fastmath=MATHS)(function)
    except RuntimeError:  # no folder to keep it in
        return numba.njit(nogil=True, fastmath=MATHS)(function)


@compiled
def grow(places, points, order, leaf):  # type: ignore[no-untyped-def]
    """Return the nodes of a tree over some people, whose numbers `order` are put in its order.

    Person j is at the place `points[j]`.
    """
    count, width = len(order), places.shape[1]
    start, stop = np.empty(2 * count, dtype=np.int64), np.empty(2 * count, dtype=np.int64)
    # The people of nodes that are still to be walked, of which there are never more than people.
    first, last = np.empty(count + 1, dtype=np.int64), np.empty(count + 1, dtype=np.int64)
    first[0], last[0], todo, nodes = 0, count, 1, 0
    while todo:
        todo -= 1
        a, b, node = first[todo], last[todo], nodes
        start[node], stop[node], nodes = a, b, nodes + 1
        step = 1 if b - a <= WHOLE else (b - a) // SAMPLE
        low, high = places[points[order[a]]].copy(), places[points[order[a]]].copy()
        for j in range(a, b, step):
            row = places[points[order[j]]]
            for q in range(width):
                low[q] = min(low[q], row[q])
                high[q] = max(high[q], row[q])
        widest = np.argmax(high - low)
        if b - a <= leaf or high[widest] == low[widest]:
            continue
        values = np.empty((b - a + step - 1) // step)
        for j in range(len(values)):
            values[j] = places[points[order[a + j * step]], widest]
        middle = np.partition(values, len(values) // 2)[len(values) // 2]
        if middle == low[widest]:  # half of them are equal: these go left, the others right
            middle = np.inf
            for value in values:
                if value > low[widest]:
                    middle = min(middle, value)
        i, j = a, b - 1
        while i <= j:
            if places[points[order[i]], widest] < middle:
                i += 1
            else:
                order[i], order[j] = order[j], order[i]
                j -= 1
        first[todo], last[todo], first[todo + 1], last[todo + 1] = i, b, a, i
        todo += 2
    return start[:nodes], stop[:nodes]


@compiled
def surround(places, points, order, start, stop):  # type: ignore[no-untyped-def]
    """Return the node behind each one, and the corners of its box in single precision."""
    nodes, width = len(start), places.shape[1]
    after = np.empty(nodes, dtype=np.int64)
    low = np.empty((nodes, width), dtype=np.float32)
    high = np.empty((nodes, width), dtype=np.float32)
    for node in range(nodes - 1, -1, -1):
        inner = node + 1 < nodes and start[node + 1] == start[node] and stop[node + 1] < stop[node]
        if inner:
            left, right = node + 1, after[node + 1]
            after[node] = after[right]
            for q in range(width):
                low[node, q] = min(low[left, q], low[right, q])
                high[node, q] = max(high[left, q], high[right, q])
            continue
        after[node] = node + 1
        for q in range(width):
            least = most = places[points[order[start[node]]], q]
            for j in range(start[node] + 1, stop[node]):
                value = places[points[order[j]], q]
                least, most = min(least, value), max(most, value)
            low[node, q] = least - OUTWARDS * abs(least)
            high[node, q] = most + OUTWARDS * abs(most)
    return after, low, high


@compiled
def outside(x, low, high, most, kind):  # type: ignore[no-untyped-def]
    """Return the least sum from x to a box, or one above `most`."""
    total, q, width = 0.0, 0, len(x)
    while q < width and total <= most:
        part, own = 0.0, x[q : q + CHUNK]
        below, above = low[q : q + CHUNK], high[q : q + CHUNK]
        if kind == SUM:
            for r in range(len(own)):
                part += max(below[r] - own[r], own[r] - above[r], 0.0)
        else:
            for r in range(len(own)):
                gap = max(below[r] - own[r], own[r] - above[r], 0.0)
                part += gap * gap
        total, q = total + part, q + CHUNK
    return total


@compiled
def between(x, y, most, kind):  # type: ignore[no-untyped-def]
    """Return the sum between two people, or one above `most`."""
    total, q, width = 0.0, 0, len(x)
    while q < width and total <= most:
        part, own, other = 0.0, x[q : q + CHUNK], y[q : q + CHUNK]
        if kind == SUM:
            for r in range(len(own)):
                part += abs(own[r] - other[r])
        else:
            for r in range(len(own)):
                part += (own[r] - other[r]) * (own[r] - other[r])
        total, q = total + part, q + CHUNK
    return total


@compiled
def cost_of(total, kind, factor):  # type: ignore[no-untyped-def]
    """Return the cost of a sum."""
    return math.sqrt(total) * factor if kind == ROOT else total * factor


@compiled
def sum_of(cost, kind, factor):  # type: ignore[no-untyped-def]
    """Return a sum that is no less than those of a cost."""
    cost /= factor
    return (cost * cost if kind == ROOT else cost) * SLACK


@compiled
def first_leaf(x, node, start, stop, after, low, high, kind):  # type: ignore[no-untyped-def]
    """Return a leaf below a node whose box is near x."""
    while after[node] != node + 1:
        left, right = node + 1, after[node + 1]
        nearer = outside(x, low[left], high[left], np.inf, kind)
        node = left if outside(x, low[right], high[right], nearer, kind) >= nearer else right
    return node


@compiled
def soft_pass(  # type: ignore[no-untyped-def]
    places,
    rows,
    there,
    people,
    weight,
    roots,
    start,
    stop,
    after,
    low,
    high,
    far,
    kind,
    factor,
    out,
):
    """Set -log sum w exp(-cost) of each row to each type, (K, b); return how many were visited.

    `people` (u,) say where in `there` those of the tree are, in its order, and `far` (K,) by how
    much a cost must exceed the least one not to count.
    """
    visits = 0
    for i in range(len(rows)):
        x = places[rows[i]]
        for k in range(len(roots) - 1):
            node, end = roots[k], roots[k + 1]
            if node == end:
                out[k, i] = np.inf
                continue
            leaf = first_leaf(x, node, start, stop, after, low, high, kind)
            best = np.inf
            for j in range(start[leaf], stop[leaf]):
                best = min(best, between(x, there[people[j]], best, kind))
            visits += stop[leaf] - start[leaf]
            least, total = cost_of(best, kind, factor), 0.0
            most = sum_of(least + far[k], kind, factor)
            while node < end:
                visits += 1
                if outside(x, low[node], high[node], most, kind) > most:
                    node = after[node]
                    continue
                if after[node] == node + 1:
                    for j in range(start[node], stop[node]):
                        found = between(x, there[people[j]], most, kind)
                        if found > most:
                            continue
                        cost = cost_of(found, kind, factor)
                        if cost < least:
                            total *= math.exp(cost - least)
                            least, most = cost, sum_of(cost + far[k], kind, factor)
                        total += weight[j] * math.exp(least - cost)
                    visits += stop[node] - start[node]
                node += 1
            out[k, i] = least - math.log(total)
    return visits


@compiled
def nearest_pass(  # type: ignore[no-untyped-def]
    places, rows, there, people, roots, start, stop, after, low, high, kind, factor, out, where
):
    """Set the least cost of each row to each type, and where in `people` it is, (K, b) each."""
    visits = 0
    for i in range(len(rows)):
        x = places[rows[i]]
        for k in range(len(roots) - 1):
            node, end = roots[k], roots[k + 1]
            out[k, i], where[k, i] = np.inf, 0
            if node == end:
                continue
            leaf, best, who = first_leaf(x, node, start, stop, after, low, high, kind), np.inf, 0
            for j in range(start[leaf], stop[leaf]):
                found = between(x, there[people[j]], best, kind)
                if found < best:
                    best, who = found, j
            visits += stop[leaf] - start[leaf]
            while node < end:
                visits += 1
                if outside(x, low[node], high[node], best, kind) >= best and node != leaf:
                    node = after[node]
                    continue
                if after[node] == node + 1 and node != leaf:
                    for j in range(start[node], stop[node]):
                        found = between(x, there[people[j]], best, kind)
                        if found < best:
                            best, who = found, j
                    visits += stop[node] - start[node]
                node += 1
            out[k, i], where[k, i] = cost_of(best, kind, factor), who
    return visits


@compiled
def share_pass(  # type: ignore[no-untyped-def]
    places, rows, there, people, weight, roots, start, stop, after, low, high, far, kind, factor,
    soft, mass, mean, received,
):  # fmt: skip
    """Set the mean cost from each row to each type, (K, b), and add what each place receives.

    `soft` (K, b) are the distances, by which shares are known, `mass` (K, b) is what is sent, and
    `received` (u,) is per unit of weight.
    """
    for i in range(len(rows)):
        x = places[rows[i]]
        for k in range(len(roots) - 1):
            node, end, own = roots[k], roots[k + 1], soft[k, i]
            mean[k, i] = 0.0
            most = 0.0 if node == end else sum_of(own + far[k], kind, factor)
            while node < end:
                if outside(x, low[node], high[node], most, kind) > most:
                    node = after[node]
                    continue
                if after[node] == node + 1:
                    for j in range(start[node], stop[node]):
                        found = between(x, there[people[j]], most, kind)
                        if found <= most:
                            cost = cost_of(found, kind, factor)
                            share = math.exp(own - cost)
                            mean[k, i] += weight[j] * share * cost
                            received[j] += share * mass[k, i]
                node += 1
