"""The command line: one file per command; files with an underscore are shared by them."""

from otfair.cli._main import main
