"""Compiled loops: a tree of boxes around people, and passes over those boxes that are near.

Maths: docs/derivation.md, section 17. They are plain loops over NumPy's arrays, compiled by Numba
when they are first called, and hold no lock, so that threads share the work.

Costs are increasing functions of a sum over features: of squares (`kind` ROOT, whose root is taken,
and SQUARE) or of absolute differences (SUM), in units of epsilon by `factor`.

People of a small box are alike in most features, as those of categories. What a row has to such a
feature is the same for all of them: it is added up once, on the way down to the box.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba
import numpy as np

ROOT, SQUARE, SUM = 0, 1, 2
SAMPLE, WHOLE = 512, 4096  # people by whom a node is split, of nodes with more than so many
SLACK = 1 + 1e-12  # of sums, for what rounding may take
MATHS = {"reassoc", "contract", "nsz"}


class Tree(NamedTuple):
    """Boxes of each type in the order in which one goes down: a node, all on its left, its right.

    A node has `alike` those features in which its people do not differ but its parent's do, and
    `vary` those in which they do differ: numbers `a[node]` to `a[node + 1]` of the lists below.
    """

    roots: np.ndarray  # (K + 1,) first node of each type, and the end
    start: np.ndarray  # (nodes + 1,) first person of a node, in the order of the tree
    stop: np.ndarray  # (nodes,) the one behind its last person
    right: np.ndarray  # (nodes,) right child; 0 for a leaf
    alike: np.ndarray  # (nodes + 1,)
    alike_column: np.ndarray
    alike_value: np.ndarray
    vary: np.ndarray  # (nodes + 1,)
    vary_column: np.ndarray
    low: np.ndarray  # the least value in this column
    high: np.ndarray  # the largest one
    first: np.ndarray  # (nodes,) where the values of a leaf begin
    values: np.ndarray  # of a leaf's people in columns that vary: a column after the other
    depth: int  # of the deepest leaf
    largest: int  # people in a leaf
    full: np.ndarray


def compiled(function: Any) -> Any:
    """Compile a function when it is first called, and keep the code for other processes."""
    try:
        return numba.njit(nogil=True, cache=True, fastmath=MATHS)(function)
    except RuntimeError:  # no folder to keep it in
        return numba.njit(nogil=True, fastmath=MATHS)(function)


def inlined(function):
    return numba.njit(nogil=True, fastmath=MATHS, inline="always")(function)


@compiled
def room(array, needed):  # type: ignore[no-untyped-def]
    """Return an array with room for so many numbers, and those that it has."""
    if needed <= len(array):
        return array
    larger = np.empty(max(needed, 2 * len(array)), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


@compiled
def split(places, points, order, a, b, column, least):  # type: ignore[no-untyped-def]
    """Put people a to b with small values in a column first; return where the others begin."""
    step = 1 if b - a <= WHOLE else (b - a) // SAMPLE
    some = np.empty((b - a + step - 1) // step)
    for j in range(len(some)):
        some[j] = places[points[order[a + j * step]], column]
    middle = np.partition(some, len(some) // 2)[len(some) // 2]
    if middle == least:  # half of them are equal: these go left, the others right
        middle = np.inf
        for j in range(a, b):
            value = places[points[order[j]], column]
            if value > least:
                middle = min(middle, value)
    i, j = a, b - 1
    while i <= j:
        if places[points[order[i]], column] < middle:
            i += 1
        else:
            order[i], order[j] = order[j], order[i]
            j -= 1
    return i


@compiled
def grow(places, points, order, edges, leaf, lowest, highest):  # type: ignore[no-untyped-def]
    """Return the trees of types, whose people `order` from `edges[k]` on are put in their order.

    Person j is at the place `points[j]`.
    """
    count, width = len(order), places.shape[1]
    roots = np.zeros(len(edges), dtype=np.int64)
    start, stop = np.empty(2 * count, dtype=np.int64), np.empty(2 * count, dtype=np.int64)
    cut = np.zeros(2 * count, dtype=np.int64)
    full = np.zeros(2 * count, dtype=np.int64)
    right, first = np.zeros(2 * count, dtype=np.int64), np.zeros(2 * count, dtype=np.int64)
    alike, vary = np.zeros(2 * count + 1, dtype=np.int64), np.zeros(2 * count + 1, dtype=np.int64)
    alike_column, vary_column = np.empty(width, dtype=np.uint32), np.empty(width, dtype=np.uint32)
    alike_value, values = np.empty(width), np.empty(width)
    low, high = np.empty(width), np.empty(width)
    # Nodes that are still to be made: their people, parent and depth.
    todo, waiting = np.empty((count + 1, 4), dtype=np.int64), 0
    node, used, depth, largest = 0, 0, 0, 0
    mean, spread, base = np.empty(width), np.empty(width), np.empty(width)
    least, most, every = np.empty(width), np.empty(width), np.arange(width).astype(np.uint32)
    for k in range(len(edges) - 1):
        roots[k] = node
        if edges[k] < edges[k + 1]:
            todo[0, 0], todo[0, 1], todo[0, 2], todo[0, 3] = edges[k], edges[k + 1], -1, 0
            waiting = 1
        while waiting:
            waiting -= 1
            a, b, parent, deep = todo[waiting]
            start[node], stop[node], depth = a, b, max(depth, deep)
            if parent >= 0 and parent != node - 1:
                right[parent] = node
            columns = every if parent < 0 else vary_column[vary[parent] : vary[parent + 1]]
            row = places[points[order[a]]]
            for q in range(len(columns)):
                least[q] = most[q] = base[q] = row[columns[q]]
                mean[q] = spread[q] = 0.0
            for j in range(a + 1, b):
                row = places[points[order[j]]]
                for q in range(len(columns)):
                    value = row[columns[q]]
                    least[q], most[q] = min(least[q], value), max(most[q], value)
                    mean[q] += value - base[q]
                    spread[q] += (value - base[q]) * (value - base[q])
            n, v = alike[node], vary[node]
            alike_column, alike_value = room(alike_column, n + width), room(alike_value, n + width)
            vary_column = room(vary_column, v + width)
            low, high = room(low, v + width), room(high, v + width)
            widest, wide = v, -1.0
            for narrow in (True, False):
                for q in range(len(columns)):
                    c = columns[q]
                    if least[q] == most[q]:
                        if narrow:
                            alike_column[n], alike_value[n], n = c, least[q], n + 1
                        continue
                    if (lowest[c] < least[q] or most[q] < highest[c]) != narrow:
                        continue
                    vary_column[v], low[v], high[v] = c, least[q], most[q]
                    s = spread[q] - mean[q] * mean[q] / (b - a)
                    if s > wide:
                        widest, wide = v, s
                    v += 1
                if narrow:
                    full[node] = v
            alike[node + 1], vary[node + 1] = n, v
            if parent >= 0:
                for q in range(alike[node], n):
                    if alike_column[q] == cut[parent]:
                        f = alike[node]
                        alike_column[f], alike_column[q] = alike_column[q], alike_column[f]
                        alike_value[f], alike_value[q] = alike_value[q], alike_value[f]
            cut[node] = vary_column[widest]
            if b - a > leaf and v > vary[node]:
                i = split(places, points, order, a, b, vary_column[widest], low[widest])
                todo[waiting, 0], todo[waiting, 1], todo[waiting, 2] = i, b, node
                todo[waiting + 1, 0], todo[waiting + 1, 1], todo[waiting + 1, 2] = a, i, node
                todo[waiting, 3] = todo[waiting + 1, 3] = deep + 1
                waiting += 2
            else:
                first[node], largest = used, max(largest, b - a)
                values = room(values, used + (b - a) * (v - vary[node]))
                for q in range(vary[node], v):
                    for j in range(a, b):
                        values[used] = places[points[order[j]], vary_column[q]]
                        used += 1
            node += 1
    roots[-1] = node
    n, v = alike[node], vary[node]
    return (
        roots, start[:node].copy(), stop[:node].copy(), right[:node].copy(),
        alike[: node + 1].copy(), alike_column[:n].copy(), alike_value[:n].copy(),
        vary[: node + 1].copy(), vary_column[:v].copy(), low[:v].copy(), high[:v].copy(),
        first[:node].copy(), values[:used].copy(), depth, largest, full[:node].copy(),
    )  # fmt: skip


@inlined
def part(gap, kind):  # type: ignore[no-untyped-def]
    """Return what a feature adds to a sum."""
    return gap if kind == SUM else gap * gap


@inlined
def cost_of(total, kind, factor):  # type: ignore[no-untyped-def]
    """Return the cost of a sum."""
    return math.sqrt(total) * factor if kind == ROOT else total * factor


@inlined
def sum_of(cost, kind, factor):  # type: ignore[no-untyped-def]
    """Return a sum that is more than those of a cost."""
    cost /= factor
    return (cost * cost if kind == ROOT else cost) * SLACK


@inlined
def outside(x, node, fixed, most, tree, kind):  # type: ignore[no-untyped-def]
    """Return the sum over features in which people of a box are alike, and the least one over all.

    `fixed` is the former for its parent. Boxes with a sum of `most` may be said to be nearer.
    """
    for q in range(tree.alike[node], tree.alike[node + 1]):
        fixed += part(abs(x[tree.alike_column[q]] - tree.alike_value[q]), kind)
        if fixed >= most:
            break
    bound = fixed
    if fixed < most:
        for q in range(tree.vary[node], tree.full[node]):
            own = x[tree.vary_column[q]]
            bound += part(max(tree.low[q] - own, own - tree.high[q], 0.0), kind)
    return fixed, bound


@inlined
def next_leaf(x, node, fixed, bound, waiting, most, tree, kind):  # type: ignore[no-untyped-def]
    """Take boxes that wait, the last first, up to a leaf with a sum below `most`.

    Returns how many wait then, behind whom the leaf is, or -1; and how many boxes were looked at.
    """
    seen = 0
    while waiting:
        waiting -= 1
        if bound[waiting] >= most:
            continue
        here, sofar = node[waiting], fixed[waiting]
        left, right = here + 1, tree.right[here]
        if right == 0:
            return waiting, seen
        seen += 2
        own, near = outside(x, left, sofar, most, tree, kind)
        other, far = outside(x, right, sofar, most, tree, kind)
        if near > far:
            left, own, near, right, other, far = right, other, far, left, own, near
        if far < most:
            node[waiting], fixed[waiting], bound[waiting] = right, other, far
            waiting += 1
        if near < most:
            node[waiting], fixed[waiting], bound[waiting] = left, own, near
            waiting += 1
    return -1, seen


@inlined
def sums(x, leaf, fixed, tree, kind, found):  # type: ignore[no-untyped-def]
    """Set the sums from x to the people of a leaf, and return how many they are."""
    size, begin = tree.stop[leaf] - tree.start[leaf], tree.first[leaf]
    found[:size] = fixed
    for q in range(tree.vary[leaf], tree.vary[leaf + 1]):
        own, values = x[tree.vary_column[q]], tree.values[begin : begin + size]
        for j in range(size):
            found[j] += part(abs(values[j] - own), kind)
        begin += size
    return size


@compiled
def desk(tree):  # type: ignore[no-untyped-def]
    """Return room for boxes that wait, their two sums, and the sums of a leaf."""
    size = tree.depth + 2
    return np.empty(size, np.int64), np.empty(size), np.empty(size), np.empty(tree.largest)


@compiled
def soft_pass(places, rows, weight, tree, far, kind, factor, out):  # type: ignore[no-untyped-def]
    """Set -log sum w exp(-cost) of each row to each type, (K, b); return how many were visited.

    `far` (K,) is by how much a cost must exceed this distance not to count.
    """
    visits, (node, fixed, bound, found) = 0, desk(tree)
    for i in range(len(rows)):
        x = places[rows[i]]
        for k in range(len(tree.roots) - 1):
            least, total, most = np.inf, 0.0, np.inf
            node[0], waiting = tree.roots[k], min(1, tree.roots[k + 1] - tree.roots[k])
            if waiting:
                fixed[0], bound[0] = outside(x, node[0], 0.0, most, tree, kind)
            while True:
                waiting, seen = next_leaf(x, node, fixed, bound, waiting, most, tree, kind)
                visits += seen
                if waiting < 0:
                    break
                leaf = node[waiting]
                size, begin = sums(x, leaf, fixed[waiting], tree, kind, found), tree.start[leaf]
                visits += size
                for j in range(size):
                    if found[j] < most:
                        cost = cost_of(found[j], kind, factor)
                        if cost < least:
                            least, total = cost, total * math.exp(cost - least)
                        total += weight[begin + j] * math.exp(least - cost)
                if total > 0:
                    most = sum_of(least - math.log(total) + far[k], kind, factor)
            out[k, i] = least - math.log(total) if total > 0 else np.inf
    return visits


@compiled
def nearest_pass(places, rows, tree, kind, factor, out, where):  # type: ignore[no-untyped-def]
    """Set the least cost of each row to each type, and where in the tree it is, (K, b) each."""
    visits, (node, fixed, bound, found) = 0, desk(tree)
    for i in range(len(rows)):
        x = places[rows[i]]
        for k in range(len(tree.roots) - 1):
            best, who = np.inf, 0
            node[0], waiting = tree.roots[k], min(1, tree.roots[k + 1] - tree.roots[k])
            if waiting:
                fixed[0], bound[0] = outside(x, node[0], 0.0, best, tree, kind)
            while True:
                waiting, seen = next_leaf(x, node, fixed, bound, waiting, best, tree, kind)
                visits += seen
                if waiting < 0:
                    break
                leaf = node[waiting]
                size = sums(x, leaf, fixed[waiting], tree, kind, found)
                visits += size
                for j in range(size):
                    if found[j] < best:
                        best, who = found[j], tree.start[leaf] + j
            out[k, i], where[k, i] = cost_of(best, kind, factor), who
    return visits


@compiled
def share_pass(  # type: ignore[no-untyped-def]
    places, rows, weight, tree, far, kind, factor, soft, mass, mean, received
):
    """Set the mean cost from each row to each type, (K, b), and add what each place receives.

    `soft` (K, b) are the distances, by which shares are known, `mass` (K, b) is what is sent, and
    `received` (u,) is per unit of weight.
    """
    node, fixed, bound, found = desk(tree)
    for i in range(len(rows)):
        x = places[rows[i]]
        for k in range(len(tree.roots) - 1):
            own, mean[k, i] = soft[k, i], 0.0
            node[0], waiting = tree.roots[k], min(1, tree.roots[k + 1] - tree.roots[k])
            most = sum_of(own + far[k], kind, factor)
            if waiting:
                fixed[0], bound[0] = outside(x, node[0], 0.0, most, tree, kind)
            while True:
                waiting, _ = next_leaf(x, node, fixed, bound, waiting, most, tree, kind)
                if waiting < 0:
                    break
                leaf = node[waiting]
                size, begin = sums(x, leaf, fixed[waiting], tree, kind, found), tree.start[leaf]
                for j in range(size):
                    if found[j] < most:
                        cost = cost_of(found[j], kind, factor)
                        share = math.exp(own - cost)
                        mean[k, i] += weight[begin + j] * share * cost
                        received[begin + j] += share * mass[k, i]
