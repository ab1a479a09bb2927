"""Compiled loops that put people in a tree of boxes.

Maths: docs/derivation.md, section 17. A box is split in two at the median of the column in which
its people vary most, until few are left.

People of a small box are alike in many columns, such as those of categories. What these add to a
cost is the same for all of them. So a box knows in which columns its people are alike who were not
so in the box around it: going down, one meets each column once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

SAMPLE = 512  # people by whom it is told how a box of more is split
MATHS = {"reassoc", "contract", "nsz"}


class Tree(NamedTuple):
    """Boxes of people in the order in which one goes down: a node, all on its left, its right.

    A node has a list of columns in which its people are alike, and those of its parent are not, and
    one of columns in which they vary.
    """

    start: np.ndarray  # (nodes,) first person of a node, in the order of the tree
    stop: np.ndarray  # (nodes,) the one behind its last person
    right: np.ndarray  # (nodes,) right child; 0 for a leaf
    alike: np.ndarray  # (nodes, 2) begin and end of the columns in which its people are alike
    alike_column: np.ndarray  # of each node, that by which its parent was split is first
    alike_value: np.ndarray
    vary: np.ndarray  # (nodes, 3) begin and end of the others, and between them where columns begin
    # that vary as much as they do anywhere, so that they tell nothing of the box
    vary_column: np.ndarray
    low: np.ndarray  # least values of a node in columns that vary
    high: np.ndarray  # largest ones
    first: np.ndarray  # (nodes,) where the values of a leaf begin
    values: np.ndarray  # of a leaf's people in columns that vary, column by column
    depth: int  # of the deepest leaf
    largest: int  # number of people in a leaf


def compiled(function: Any) -> Any:
    """Compile a function when it is first called, and keep the code for other processes."""
    try:
        return numba.njit(nogil=True, cache=True, fastmath=MATHS)(function)
    except RuntimeError:  # no folder to keep it in
        return numba.njit(nogil=True, fastmath=MATHS)(function)


@compiled
def widest(places, people):  # type: ignore[no-untyped-def]
    """Return the column in which people have the largest variance; -1 where all are alike."""
    base, width = places[people[0]], places.shape[1]
    total, square = np.zeros(width), np.zeros(width)
    for j in range(1, len(people)):
        row = places[people[j]]
        for q in range(width):
            gap = row[q] - base[q]
            total[q] += gap
            square[q] += gap * gap
    best, most = -1, 0.0
    for q in range(width):
        variance = square[q] - total[q] * total[q] / len(people)
        if variance > most:
            best, most = q, variance
    return best


@compiled
def median(values):  # type: ignore[no-untyped-def]
    """Return the upper median of some values, which are put in another order (quickselect)."""
    a, b, middle = 0, len(values) - 1, len(values) // 2
    while a < b:
        pivot, i, j = values[(a + b) // 2], a, b
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i, j = i + 1, j - 1
        a, b = (a, j) if middle <= j else (i, b) if middle >= i else (middle, middle)
    return values[middle]


@compiled
def split(places, people, order, column, step):  # type: ignore[no-untyped-def]
    """Put people with less than the median of a column first; return how many they are."""
    values, least = np.empty(len(people)), np.inf
    for j in range(len(people)):
        values[j] = places[people[j], column]
        least = min(least, values[j])
    middle = median(values[::step].copy())
    if middle == least:  # half of them are equal: these go left, the others right
        middle = np.inf
        for value in values:
            middle = min(middle, value) if value > least else middle
    i, j = 0, len(people) - 1
    while i <= j:
        if places[people[i], column] < middle:
            i += 1
        else:
            people[i], people[j] = people[j], people[i]
            order[i], order[j] = order[j], order[i]
            j -= 1
    return i


@compiled
def grow(places, people, order, leaf):  # type: ignore[no-untyped-def]
    """Return the nodes of a tree of people, numbers of places, who are put in its order.

    `order` is put in the same order. The last ones are by which column a node was split, and depth.
    """
    start, stop, right, cut = np.zeros((4, 2 * len(people)), dtype=np.int64)
    # Nodes that are still to be made: their people, parent and depth.
    todo, waiting = np.zeros((len(people) + 1, 4), dtype=np.int64), 1
    todo[0, 1], nodes, depth = len(people), 0, 0
    while waiting:
        waiting -= 1
        a, b, parent, deep = todo[waiting]
        node, nodes, depth = nodes, nodes + 1, max(depth, deep)
        start[node], stop[node] = a, b
        if node > parent + 1:
            right[parent] = node
        step, own = (b - a + SAMPLE - 1) // SAMPLE, people[a:b]
        column = -1 if b - a <= leaf else widest(places, own[::step].copy())
        if column < 0 and b - a > leaf and step > 1:  # a sample of whom all are alike
            column = widest(places, own)
        if column >= 0:
            i, cut[node] = a + split(places, own, order[a:b], column, step), column
            todo[waiting], todo[waiting + 1] = (i, b, node, deep + 1), (a, i, node, deep + 1)
            waiting += 2
    return start[:nodes].copy(), stop[:nodes].copy(), right[:nodes].copy(), cut[:nodes], depth


@compiled
def room(array, needed):  # type: ignore[no-untyped-def]
    """Return an array with room for so many numbers, and those that it has."""
    if needed <= len(array):
        return array
    larger = np.empty(max(needed, 2 * len(array)), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


@compiled
def corners(places, people, low, high):  # type: ignore[no-untyped-def]
    """Set the corners of the box around people."""
    low[:] = places[people[0]]
    high[:] = low
    for j in range(1, len(people)):
        row = places[people[j]]
        for q in range(len(low)):
            low[q] = min(low[q], row[q])
            high[q] = max(high[q], row[q])


@compiled
def describe(  # type: ignore[no-untyped-def]
    places, people, lowest, highest, start, stop, right, cut, depth
):
    """Return the tree, with the columns of each node in which its people are alike or vary.

    `lowest` and `highest` (p,) are the least and largest values of all places.
    """
    nodes, width = len(start), places.shape[1]
    alike, vary = np.zeros((nodes, 2), dtype=np.int64), np.zeros((nodes, 3), dtype=np.int64)
    first = np.zeros(nodes, dtype=np.int64)
    alike_column, vary_column = np.empty(0, dtype=np.uint32), np.empty(0, dtype=np.uint32)
    alike_value, low, high, values = np.empty(0), np.empty(0), np.empty(0), np.empty(0)
    # Corners of boxes whose parents are still to come, up to `top`: a left one after its right one.
    least, most, top = np.empty((depth + 2, width)), np.empty((depth + 2, width)), -1
    n, v, used, largest = 0, 0, 0, 0
    for node in range(nodes - 1, -2, -1):  # -1 is above the root
        if node >= 0 and right[node] == 0:
            top, own = top + 1, people[start[node] : stop[node]]
            corners(places, own, least[top], most[top])
            largest = max(largest, len(own))
            continue
        below, above = np.full(width, -np.inf), np.full(width, np.inf)
        if node >= 0:
            below = np.minimum(least[top - 1], least[top])
            above = np.maximum(most[top - 1], most[top])
        for c in range(2 if node >= 0 else 1):
            child, a, b = node + 1 if c == 0 else right[node], least[top - c], most[top - c]
            alike_column, alike_value = room(alike_column, n + width), room(alike_value, n + width)
            vary_column = room(vary_column, v + width)
            low, high = room(low, v + width), room(high, v + width)
            alike[child], vary[child] = n, v
            for r in range(-1, width):
                q = r if r >= 0 else cut[node]  # which comes first
                if a[q] == b[q] and below[q] < above[q] and (r < 0 or q != cut[node]):
                    alike_column[n], alike_value[n], n = q, a[q], n + 1
            for whole in range(2):
                for q in range(width):
                    if a[q] < b[q] and (a[q] == lowest[q] and b[q] == highest[q]) == whole:
                        vary_column[v], low[v], high[v], v = q, a[q], b[q], v + 1
                vary[child, 1 + whole] = v
            alike[child, 1] = n
            if right[child] == 0:
                own, first[child] = people[start[child] : stop[child]], used
                values = room(values, used + len(own) * (v - vary[child, 0]))
                for r in range(vary[child, 0], v):
                    for j in own:
                        values[used], used = places[j, vary_column[r]], used + 1
        top -= 1
        if top >= 0:
            least[top], most[top] = below, above
    return (
        start, stop, right, alike, alike_column[:n].copy(), alike_value[:n].copy(), vary,
        vary_column[:v].copy(), low[:v].copy(), high[:v].copy(), first, values[:used].copy(),
        depth, largest,
    )  # fmt: skip
