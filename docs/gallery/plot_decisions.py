"""
Fair decisions from any classifier
==================================

Fair scores do not guarantee fair decisions, because a threshold can undo them.

``FairDecisions`` wraps any classifier and decides so that the rates of two groups differ by no more
than a limit. It does not need to know anybody's sex when it decides.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

import otfair

data = otfair.load_dataset("synthetic", n=10000)
sex = data.sensitive_features["sex"]
train, test = train_test_split(np.arange(10000), random_state=0)

# %%
# The limit is 5 percentage points, for *new* people, with a confidence of 90 %.

model = make_pipeline(otfair.TableEncoder(), LogisticRegression())
fair = otfair.FairDecisions(model, max_difference=0.05)
fair.fit(data.X.iloc[train], data.y[train], sensitive_features=sex.iloc[train])
print(fair.summary()[["people", "before", "rate", "promised"]].round(3).to_string())
print(f"confidence asked for: {100 * fair.confidence:.0f} %")

# %%
# The 2500 people who were kept out can check the promise.

plain = model.fit(data.X.iloc[train], data.y[train])
for name, decide in {"one threshold": plain, "FairDecisions": fair}.items():
    decided = decide.predict(data.X.iloc[test])
    gap = otfair.demographic_parity_difference(decided, sex.iloc[test])
    right = (decided == data.y[test]).mean()
    print(f"{name:<14} difference {gap:.2f}   right {right:.2f}")

# %%
# The difference falls from 0.13 to nearly nothing, and the share of right decisions from 0.74 to
# 0.72. ``path`` shows what every other limit would cost.

path = fair.path(
    np.linspace(0, 0.16, 9), data.X.iloc[test], data.y[test], sensitive_features=sex.iloc[test]
)
figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
axes.plot(path["limit"], path["accuracy"], "o-", label="FairDecisions")
plain_right = (plain.predict(data.X.iloc[test]) == data.y[test]).mean()
axes.axhline(plain_right, color="0.5", ls="--", label="one threshold, no limit")
axes.set_xlabel("largest difference of rates that is allowed")
axes.set_ylabel("share of right decisions")
axes.set_title("What each limit costs, on people who were kept out")
axes.legend(loc="lower right")
plt.show()
