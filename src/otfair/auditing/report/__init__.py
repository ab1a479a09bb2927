"""The report of an audit: one page of words, tables and charts."""

from otfair.auditing.report._page import notebook_cell, page

__all__ = ["notebook_cell", "page"]
