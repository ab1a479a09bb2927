"""`python -m otfair` is the command line."""

import sys

from otfair.cli._main import main

if __name__ == "__main__":
    sys.exit(main())
