"""The paper's experiments: what is run, how, where results are kept, and what they show."""

from otfair.reproduction._figures import write_figures
from otfair.reproduction._frames import to_frame
from otfair.reproduction._page import page, write_page
from otfair.reproduction._plan import COLUMNS, Run, plan
from otfair.reproduction._runner import reproduce
from otfair.reproduction._store import Result, Store, read_csv
