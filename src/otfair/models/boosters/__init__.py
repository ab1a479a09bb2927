"""Stock boosters that can train with the penalty: one file each, and its entry here."""

from otfair.models.boosters._base import Booster, Stopping, TreeData
from otfair.models.boosters._lightgbm import LightGBM
from otfair.models.boosters._xgboost import XGBoost

BOOSTERS: dict[str, type[Booster]] = {booster.name: booster for booster in (XGBoost, LightGBM)}
