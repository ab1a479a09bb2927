"""Trained models in files from which no code is ever run."""

from otfair.saving._models import SaveMixin, load_model, save_model

__all__ = ["SaveMixin", "load_model", "save_model"]
