"""The transport problem, its solvers, the four costs, and what a solution tells."""

from otfair.transport._coordinate import Coordinate
from otfair.transport._newton import Newton
from otfair.transport._otf import Solver, adjusted_otf, exact_otf, relaxed_otf, smooth_otf
from otfair.transport._results import AdjustedTransport, Flows, Transport
from otfair.transport._status import Status, TransportError
