"""Trained models in files from which no code is ever run."""

from otfair.saving._models import load_model, save_model
