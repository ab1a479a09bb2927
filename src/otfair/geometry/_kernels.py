"""Compiled loops: a tree of boxes around people, and passes over those boxes that are near.

Maths: docs/derivation.md, section 17. They are plain loops over NumPy's arrays, compiled by Numba
when they are first called, and hold no lock, so that threads share the work.

Costs are increasing functions of a sum over features: of squares (`kind` ROOT, whose root is taken,
and SQUARE) or of absolute differences (SUM), in units of epsilon by `factor`.

People of a small box are alike in many features, such as those of categories. What these add to a
sum is the same for all of them, and is added once, on the way down to the box.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba
import numpy as np

ROOT, SQUARE, SUM = 0, 1, 2
SAMPLE = 512  # people, about, by whom it is told how larger boxes are split
SLACK = 1 + 1e-12  # of sums, for what rounding may take
MATHS = {"reassoc", "contract", "nsz"}


class Tree(NamedTuple):
    """Boxes of people in the order in which one goes down: a node, all on its left, its right.

    Columns in which the people of a node are alike, but not those of its parent, are numbers
    `alike[node]` to `alike[node + 1]` of a list; those in which they vary, of another one. The
    latter begin with those that tell something of the box: others, from `whole[node]` on, vary as
    much as they do among all people.
    """

    start: np.ndarray  # (nodes,) first person of a node, in the order of the tree
    stop: np.ndarray  # (nodes,) the one behind its last person
    right: np.ndarray  # (nodes,) right child; 0 for a leaf
    alike: np.ndarray  # (nodes + 1,)
    alike_column: np.ndarray  # of each node, that by which its parent was split is first
    alike_value: np.ndarray
    vary: np.ndarray  # (nodes + 1,)
    whole: np.ndarray  # (nodes,)
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


def inlined(function: Any) -> Any:
    """Put a function's code where it is called; to pass a tree would take longer than to use it."""
    return numba.njit(inline="always")(function)


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
def widest(places, people, low, high):  # type: ignore[no-untyped-def]
    """Return the column with the largest variance among people who are not all alike."""
    middle, mean, square = (low + high) / 2, np.zeros(len(low)), np.zeros(len(low))
    for j in range(len(people)):
        row = places[people[j]]
        for q in range(len(low)):
            gap = row[q] - middle[q]
            mean[q] += gap
            square[q] += gap * gap
    best, most = np.argmax(high - low), -np.inf
    for q in range(len(low)):
        variance = square[q] - mean[q] * mean[q] / len(people)
        if low[q] < high[q] and variance > most:
            best, most = q, variance
    return best


@compiled
def split(places, people, order, column, least, step):  # type: ignore[no-untyped-def]
    """Put people with less than the median of a column first; return how many they are."""
    some = np.array([places[j, column] for j in people[::step]])
    middle = np.partition(some, len(some) // 2)[len(some) // 2]
    if middle == least:  # half of them are equal: these go left, the others right
        middle = np.inf
        for j in people:
            if places[j, column] > least:
                middle = min(middle, places[j, column])
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
def room(array, needed):  # type: ignore[no-untyped-def]
    """Return an array with room for so many numbers, and those that it has."""
    if needed <= len(array):
        return array
    larger = np.empty(max(needed, 2 * len(array)), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


@compiled
def grow(places, people, order, lowest, highest, leaf):  # type: ignore[no-untyped-def]
    """Return what makes a tree of people, numbers of places, which are put in its order.

    `order` is put in the same order; `lowest` and `highest` (p,) are over all places.
    """
    count, width = 2 * len(people), places.shape[1]
    start, stop, right, whole, first, cut = np.zeros((6, count), dtype=np.int64)
    alike, vary = np.zeros((2, count + 1), dtype=np.int64)
    alike_column, vary_column = np.empty(0, dtype=np.uint32), np.empty(0, dtype=np.uint32)
    alike_value, values, low, high = np.empty(0), np.empty(0), np.empty(0), np.empty(0)
    least, most, used, depth, largest = np.empty(width), np.empty(width), 0, 0, 0
    todo, waiting, node = np.empty((len(people) + 1, 4), dtype=np.int64), 1, 0
    todo[0] = (0, len(people), -1, 0)  # people of a node that is still to be made, parent, depth
    while waiting:
        waiting -= 1
        a, b, parent, deep = todo[waiting]
        start[node], stop[node], depth = a, b, max(depth, deep)
        if parent != node - 1:
            right[parent] = node
        own = people[a:b]
        corners(places, own, least, most)
        n, v = alike[node], vary[node]
        alike_column, alike_value = room(alike_column, n + width), room(alike_value, n + width)
        vary_column = room(vary_column, v + width)
        low, high = room(low, v + width), room(high, v + width)
        columns = vary_column[vary[parent] : vary[parent + 1]]
        if node == 0:
            columns = np.arange(width).astype(np.uint32)
        for q in columns:
            if least[q] == most[q]:
                alike_column[n], n = q, n + 1
            elif lowest[q] < least[q] or most[q] < highest[q]:
                vary_column[v], v = q, v + 1
        whole[node] = v
        for q in columns:
            if least[q] == lowest[q] < most[q] == highest[q]:
                vary_column[v], v = q, v + 1
        for r in range(alike[node] + 1, n):
            if node > 0 and alike_column[r] == cut[parent]:
                alike_column[r], alike_column[alike[node]] = alike_column[alike[node]], cut[parent]
        for r in range(alike[node], n):
            alike_value[r] = least[alike_column[r]]
        for r in range(vary[node], v):
            low[r], high[r] = least[vary_column[r]], most[vary_column[r]]
        alike[node + 1], vary[node + 1] = n, v
        if b - a <= leaf or v == vary[node]:
            first[node], largest = used, max(largest, b - a)
            values = room(values, used + (b - a) * (v - vary[node]))
            for r in range(vary[node], v):
                for j in own:
                    values[used], used = places[j, vary_column[r]], used + 1
        else:
            step = max(1, (b - a) // SAMPLE)
            cut[node] = widest(places, own[::step], least, most)
            i = a + split(places, own, order[a:b], cut[node], least[cut[node]], step)
            todo[waiting] = (i, b, node, deep + 1)
            todo[waiting + 1] = (a, i, node, deep + 1)
            waiting += 2
        node += 1
    n, v = alike[node], vary[node]
    return (
        start[:node].copy(), stop[:node].copy(), right[:node].copy(),
        alike[: node + 1].copy(), alike_column[:n].copy(), alike_value[:n].copy(),
        vary[: node + 1].copy(), whole[:node].copy(), vary_column[:v].copy(),
        low[:v].copy(), high[:v].copy(), first[:node].copy(), values[:used].copy(), depth, largest,
    )  # fmt: skip


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
def outside(x, node, fixed, most, tree, kind):  # type: ignore[no-untyped-def]
    """Return the sum over columns in which a node's people are alike, and a bound on all sums.

    `fixed` is the former for its parent. Both may end where they reach `most`.
    """
    for r in range(tree.alike[node], tree.alike[node + 1]):
        fixed += part(abs(x[tree.alike_column[r]] - tree.alike_value[r]), kind)
        if fixed >= most:
            break
    bound = fixed
    if fixed < most:
        for r in range(tree.vary[node], tree.whole[node]):
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
        here, sofar = node[waiting], fixed[waiting]
        if bound[waiting] >= most:
            continue
        if tree.right[here] == 0:
            found = waiting
            continue
        near, far = here + 1, tree.right[here]
        near_fixed, near_bound = outside(x, near, sofar, most, tree, kind)
        far_fixed, far_bound = outside(x, far, sofar, most, tree, kind)
        seen += 2
        if near_bound > far_bound:
            near, near_fixed, near_bound, far, far_fixed, far_bound = (
                far, far_fixed, far_bound, near, near_fixed, near_bound
            )  # fmt: skip
        if far_bound < most:
            node[waiting], fixed[waiting], bound[waiting] = far, far_fixed, far_bound
            waiting += 1
        if near_bound < most:
            node[waiting], fixed[waiting], bound[waiting] = near, near_fixed, near_bound
            waiting += 1
    return found, seen


@inlined
def sums(x, leaf, fixed, tree, kind, found):  # type: ignore[no-untyped-def]
    """Set the sums from x to the people of a leaf, and return how many they are."""
    size, begin = tree.stop[leaf] - tree.start[leaf], tree.first[leaf]
    found[:size] = fixed
    for r in range(tree.vary[leaf], tree.vary[leaf + 1]):
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
        waiting, seen = next_leaf(x, node, fixed, bound, 1, most, tree, kind)
        while waiting >= 0:
            begin = tree.start[node[waiting]]
            size = sums(x, node[waiting], fixed[waiting], tree, kind, found)
            visits += seen + size
            for j in range(size):
                if found[j] < most:
                    cost = cost_of(found[j], kind, factor)
                    if cost < least:
                        least, total = cost, total * math.exp(cost - least)
                    total += weight[begin + j] * math.exp(least - cost)
            if total > 0.0:
                most = sum_of(least - math.log(total) + far, kind, factor)
            waiting, seen = next_leaf(x, node, fixed, bound, waiting, most, tree, kind)
        visits += seen
        out[i] = least - math.log(total) if total > 0.0 else np.inf
    return visits


@compiled
def nearest_pass(places, rows, tree, kind, factor, out, where):  # type: ignore[no-untyped-def]
    """Set the least cost of each row, and where in the tree it is, (b,) each."""
    visits, (node, fixed, bound, found) = 0, table(tree)
    for i in range(len(rows)):
        x, best, who = places[rows[i]], np.inf, 0
        node[0], (fixed[0], bound[0]) = 0, outside(x, 0, 0.0, best, tree, kind)
        waiting, seen = next_leaf(x, node, fixed, bound, 1, best, tree, kind)
        while waiting >= 0:
            begin = tree.start[node[waiting]]
            size = sums(x, node[waiting], fixed[waiting], tree, kind, found)
            visits += seen + size
            for j in range(size):
                if found[j] < best:
                    best, who = found[j], begin + j
            waiting, seen = next_leaf(x, node, fixed, bound, waiting, best, tree, kind)
        visits += seen
        out[i], where[i] = cost_of(best, kind, factor), who
    return visits


@compiled
def share_pass(  # type: ignore[no-untyped-def]
    places, rows, tree, kind, factor, weight, far, soft, mass, mean, received
):
    """Set the mean cost from each row, (b,), and add what each person receives, (n,).

    `soft` (b,) are the distances, by which shares are known, `mass` (b,) is what is sent, and
    `received` is per unit of weight.
    """
    node, fixed, bound, found = table(tree)
    for i in range(len(rows)):
        x, most = places[rows[i]], sum_of(soft[i] + far, kind, factor)
        mean[i] = 0.0
        node[0], (fixed[0], bound[0]) = 0, outside(x, 0, 0.0, most, tree, kind)
        waiting, _ = next_leaf(x, node, fixed, bound, 1, most, tree, kind)
        while waiting >= 0:
            begin = tree.start[node[waiting]]
            size = sums(x, node[waiting], fixed[waiting], tree, kind, found)
            for j in range(size):
                if found[j] < most:
                    cost = cost_of(found[j], kind, factor)
                    share = math.exp(soft[i] - cost)
                    mean[i] += weight[begin + j] * share * cost
                    received[begin + j] += share * mass[i]
            waiting, _ = next_leaf(x, node, fixed, bound, waiting, most, tree, kind)
