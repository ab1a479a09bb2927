"""
A million rows
==============

The slow part is one pass over the distances between people.

It is made once, and each solve after it is much quicker. This example times both up to a million
people, and says how to go on.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

import otfair

# %%
# Two settings. In the first, all people may receive score, and the pass looks at all pairs: that is
# what small tables do. In the second, 200 people drawn at random may receive score, so the pass
# looks at 200 pairs for each person.


def seconds(work):
    """Return how long a piece of work takes, and what it returns."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def measure(n, receivers=None):
    """Return the seconds of the first solve, which includes the pass, and of the next one."""
    data = otfair.make_synthetic(n=n)
    X = otfair.TableEncoder().fit_transform(data.X)
    people = otfair.DemographicParity().people(data.sensitive_features["sex"])
    rows = np.random.default_rng(0).permutation(n)[:receivers]  # all of them for None
    cloud = otfair.PointCloud(X, X[rows])
    fair = people.constraints(columns=rows)
    first, t = seconds(lambda: otfair.smooth_otf(data.truth.scores, cloud, fair))
    again, _ = seconds(lambda: otfair.smooth_otf(data.truth.scores**1.1, cloud, fair, init=t))
    return first, again


sizes = [1000, 2000, 4000, 8000]
larger = [10_000, 100_000, 1_000_000]
unsampled = [measure(n) for n in sizes]
sampled = [measure(n, receivers=200) for n in larger]
for name, ns, times in (("all", sizes, unsampled), ("200", larger, sampled)):
    for n, (first, again) in zip(ns, times):
        print(
            f"receivers: {name:<10} people {n:>7}   pass {first:6.2f} s   next solve {again:6.3f} s"
        )

# %%
# Times differ from machine to machine, so compare the slopes: over all pairs, twice as many people
# are four times as many pairs, and with a sample twice as many. There are four ways to go on.
#
# - Numba, the extra ``fast``: past some ten thousand people it looks at near people only, and the
#   pass with all people takes seconds for a million. The page on performance has measured times.
# - ``OTFClassifier`` draws receivers by itself where comparing all people would take too long.
# - ``otfair.audit`` does the same, and says how sure the sampled cost is.
# - Rows on several machines: pass Dask collections to the same functions.

figure, axes = plt.subplots(figsize=(7, 4.4), layout="constrained")
for label, ns, times, colour in (
    ("all people may receive", sizes, unsampled, "C0"),
    ("200 people may receive", larger, sampled, "C1"),
):
    first, again = zip(*times)
    axes.loglog(ns, first, "o-", color=colour, label=f"the pass: {label}")
    axes.loglog(ns, again, "s:", color=colour, label="the next solve")
axes.set_xlabel("people")
axes.set_ylabel("seconds, one core")
axes.set_title("One slow pass over the distances, then quick solves")
figure.legend(loc="outside lower center", ncols=2)
plt.show()
