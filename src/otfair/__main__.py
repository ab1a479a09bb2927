"""`python -m otfair` is the command line."""

import sys

from otfair.cli import main

if __name__ == "__main__":
    sys.exit(main())
