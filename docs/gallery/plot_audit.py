"""
An audit of somebody's scores
=============================

``audit`` needs scores and a sensitive column, whatever model made the scores.

It says who is worst off, by how much, whether chance explains it, and what fairness would take.
"""

import textwrap

import matplotlib.pyplot as plt

import otfair

data = otfair.load_dataset("synthetic", n=1500)
people = data.sensitive_features[["sex", "origin"]]
found = otfair.audit(
    data.truth.scores, data.X, sensitive_features=people, labels=data.y, favourable=1
)
print(found.summary()[["attribute", "notion", "violation", "rate_difference", "moved"]].round(2))

# %%
# The first sentences of the report say it in words.

for answer in otfair.auditing.answers(found):
    print(answer.title)
    for sentence in (answer.gap, answer.chance, *answer.others):
        print(textwrap.fill(sentence, 80, initial_indent="- ", subsequent_indent="  "))

# %%
# Of 1000 women 303 fewer are predicted a loan than of 1000 men, which is more than chance explains.
# To give women and men equal mean scores in the cheapest way, 12 % of all score would have to move.
# ``found.to_html("report.html")`` writes all of it as one page that opens offline.

print(f"{100 * found.summary()['moved'][0]:.0f} % of all score would move")
rates = [
    (group.group.replace("=", " = "), group.rates["selection_rate"])
    for attribute in found.decisions
    for group in attribute.groups
][::-1]
figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
for name, rate in rates:
    axes.hlines(name, rate.low, rate.high, color="C0", lw=5, alpha=0.35)
    axes.plot(rate.value, name, "o", color="C0")
axes.set_xlim(0, 0.6)
axes.set_xlabel("share predicted a loan, with its 95 % interval")
axes.set_title("Who is predicted a loan?")
plt.show()
