"""
A table that a law asks for
===========================

New York City's Local Law 144 asks for *impact ratios*: the selection rate of each category over the
highest one.

``ll144`` makes the tables, and says how far each ratio could move if the people whose category is
unknown were known. These are tables, not a verdict. Nothing here is legal advice.
"""

import matplotlib.pyplot as plt
import pandas as pd

import otfair

# %%
# Of 1100 applicants, 90 did not state their sex, and 110 did not state their race.

counted = pd.DataFrame(
    [
        ("women", "A", 320, 96), ("women", "B", 180, 45), ("men", "A", 300, 117),
        ("men", "B", 150, 51), ("women", None, 60, 15), (None, "A", 40, 14), (None, None, 50, 20),
    ],
    columns=["sex", "race", "people", "hired"],
)  # fmt: skip
people = counted.loc[counted.index.repeat(counted["people"])]
hired = (people.groupby(level=0).cumcount() < people["hired"]).astype(int)

found = otfair.ll144(hired, sex=people["sex"], race=people["race"], source="made-up applications")
columns = ["category", "people", "rate", "impact_ratio", "lowest", "highest"]
for table in found.tables.values():
    print(table[columns].round(3).to_string(index=False), end="\n\n")

# %%
# Women are hired at 0.746 of the rate of men. Depending on who the 90 others are, the ratio lies
# between 0.607 and 0.963. ``found.to_html("ll144.html")`` writes the page.

rows = pd.concat(found.tables.values()).dropna(subset="impact_ratio").iloc[::-1]
figure, axes = plt.subplots(figsize=(7.5, 4), layout="constrained")
axes.hlines(rows["category"], rows["lowest"], rows["highest"], color="C1", lw=6, alpha=0.35)
axes.plot(rows["impact_ratio"], rows["category"], "o", color="C0")
axes.axvline(0.8, color="0.5", ls="--", lw=1)
axes.text(0.81, len(rows) - 0.5, "four fifths", va="bottom", color="0.4")
axes.set_xlim(0.3, 1.05)
axes.set_xlabel("impact ratio; the bar is where the unknown could take it")
axes.set_title("Impact ratios, and how sure they are", loc="left")
plt.show()
