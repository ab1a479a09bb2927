"""
Which notion of fairness?
=========================

A notion of fairness says *who* is compared with *whom*.

This example trains one model for each of five notions and measures each model by all five. A model
that is fair by one notion need not be fair by another.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import otfair

data = otfair.load_dataset("synthetic", n=2000)
sex = data.sensitive_features["sex"]
X = otfair.TableEncoder().fit_transform(data.X)

# %%
# Five notions, by whom they compare:
#
# - *demographic parity*: all women with all men;
# - *equal opportunity*: those whose loan was granted;
# - *predictive equality*: those whose loan was refused;
# - *equalized odds*: both of these at once;
# - *conditional parity*: those with the same education.
#
# The first four need nothing but the label. Conditional parity reads one more column. A granted
# loan is an earlier decision; here we pretend that granted was deserved.

people = pd.DataFrame({"sex": sex, "education": data.X["education"]})
notions = {
    "demographic parity": (otfair.DemographicParity(), sex),
    "equal opportunity": (otfair.EqualOpportunity(), sex),
    "predictive equality": (otfair.PredictiveEquality(), sex),
    "equalized odds": (otfair.EqualizedOdds(), sex),
    "conditional parity": (otfair.ConditionalParity(control="education"), people),
}

# %%
# The gap is the largest difference between the mean scores of women and men, among those whom the
# notion compares.


def gaps(model):
    """Return the gap of a model's scores by each notion."""
    scores = model.predict_proba(X)[:, 1]
    return [
        otfair.mean_score_difference(scores, columns, notion, labels=data.y)
        for notion, columns in notions.values()
    ]


rows = {"no notion": gaps(otfair.OTFClassifier(alpha=0).fit(X, data.y))}
for name, (notion, columns) in notions.items():
    model = otfair.OTFClassifier(notion, alpha=0.95)
    rows[name] = gaps(model.fit(X, data.y, sensitive_features=columns))
table = pd.DataFrame(rows, index=list(notions)).T
print(table.round(3).rename(columns=lambda name: name.split()[0]).to_string())

# %%
# Read the picture row by row. Each notion is met by the model that was trained for it, on the
# diagonal. Two families show. Training for demographic parity *raises* the gap of equalized odds,
# from 0.039 to 0.057. Training for equalized odds leaves a gap of demographic parity of 0.062.
# So choose the notion before you choose the model.

figure, axes = plt.subplots(figsize=(7.5, 4.6), layout="constrained")
axes.imshow(table, cmap="Oranges", vmin=0, vmax=0.15, aspect="auto")
axes.set_xticks(range(5), [name.replace(" ", "\n") for name in table.columns])
axes.set_yticks(range(6), table.index)
for (i, j), gap in np.ndenumerate(table.to_numpy()):
    axes.text(j, i, f"{gap:.3f}", ha="center", va="center")
axes.set_xlabel("gap measured by")
axes.set_ylabel("trained for")
axes.set_title("Fair by one notion is not fair by all")
plt.show()
