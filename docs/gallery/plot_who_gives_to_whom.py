"""
Who gives to whom?
==================

The cost of unfairness comes with a plan: whose score would have to go where, if it may only travel
between people who are alike.

This example draws the plan for people with two features.
"""

import matplotlib.pyplot as plt
import numpy as np

import otfair

# %%
# Two features, so that distances can be seen. Group B sits a little lower on both, and the model
# scores by their sum.

random = np.random.default_rng(3)
group = np.repeat(["A", "B"], [45, 30])
X = random.normal(size=(75, 2)) + np.where(group[:, None] == "A", 0.5, -0.5)
scores = 1 / (1 + np.exp(-X.sum(axis=1)))

fair = otfair.DemographicParity().constraints(group)
t = otfair.exact_otf(scores, otfair.PointCloud(X), fair, bounded=True)
print("mean score before:", {g: scores[group == g].mean().round(3).item() for g in "AB"})
print("mean score after: ", {g: t.fair_scores[group == g].mean().round(3).item() for g in "AB"})

# %%
# ``plan`` is a sparse matrix: row i, column j is how much score i gives to j.
# Most people keep theirs.

plan = t.plan(sparse=True).tocoo()
moves = plan.row != plan.col
share = plan.data[moves].sum() / scores.sum()
print(f"{100 * share:.0f} % of all score moves, in {moves.sum()} moves")

# %%
# The fair scores have equal means, 0.535 in both groups. To get there, 13 % of all score moves,
# and most of it moves to a near neighbour.

figure, axes = plt.subplots(figsize=(7, 5), layout="constrained")
for name, colour in {"A": "C0", "B": "C1"}.items():
    who = group == name
    axes.scatter(*X[who].T, s=150 * scores[who], color=colour, alpha=0.6, label=f"group {name}")
for giver, receiver, amount in zip(plan.row[moves], plan.col[moves], plan.data[moves]):
    arrow = {"arrowstyle": "->", "lw": 0.8 + 2.5 * amount, "color": "0.2"}
    axes.annotate("", X[receiver], X[giver], arrowprops=arrow)
axes.set_xlabel("first feature")
axes.set_ylabel("second feature")
axes.set_title("Who gives score to whom (larger dots: higher scores)")
axes.legend()
plt.show()
