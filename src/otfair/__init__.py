"""Optimal transport of classifiers to fairness."""

__version__ = "0.1.0"
