"""Stock boosters that can train with the penalty: one file each, and its entry here."""

from otfair.models.boosters._base import Booster, Stopping, TreeData
from otfair.models.boosters._lightgbm import LightGBM
from otfair.models.boosters._xgboost import XGBoost

BOOSTERS: dict[str, type[Booster]] = {booster.name: booster for booster in (XGBoost, LightGBM)}


def booster_of(text: str) -> type[Booster]:
    """Return the booster whose format a text is in; a `ValueError` if it is in none."""
    for booster in BOOSTERS.values():
        if booster.reads(text):
            return booster
    raise ValueError(f"the model is no text of {' or '.join(BOOSTERS)}")
