"""
What does fairness cost?
========================

A fairer model usually predicts a little less well.

This example draws that trade-off: predictive power (AUC) against the correlation of score and sex,
on people who were not trained on.
"""

import matplotlib.pyplot as plt

import otfair

data = otfair.load_dataset("synthetic", n=4000)
sex = data.sensitive_features["sex"]

# %%
# ``tradeoff_curve`` splits the table, trains at one strength after the other, and judges each model
# on both halves with 95 % intervals.
# OTF is the cost of optimal transport. Norm is a simpler penalty, which sees group means only.

strengths = [0, 0.35, 0.5, 0.6, 0.7]
curves = {
    label: otfair.tradeoff_curve(
        data.X, data.y, sensitive_features=sex, regularizer=name, alphas=strengths, test_size=0.5
    )
    for label, name in {"OTF": "otf", "Norm": "norm"}.items()
}
shown = curves["OTF"].set_index("alpha")[["test_auc", "test_pdp", "test_accuracy"]]
print(shown.round(3).to_string())

# %%
# Without a penalty the scores correlate with sex by 0.193.
# At alpha = 0.7 that falls to 0.043, and AUC goes from 0.811 to 0.784.
# The intervals of the two penalties overlap: this picture does not tell which is better.

axes = otfair.plot_tradeoff(curves)
axes.set_title("Fairness against predictive power, on new people")
plt.show()
