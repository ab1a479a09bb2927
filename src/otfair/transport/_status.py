"""How a solve ended, with the remedy where it did not end well."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """Outcome of a solver; the text of a failure says what to do about it.

    `CONVERGED`, `SETTLED` and `SWEEP_LIMIT` are outcomes that were asked for; the others are
    failures, which raise `TransportError` unless `throw=False`.
    """

    CONVERGED = "converged"
    SETTLED = (
        "settled: the published scheme's own stopping rule fired; `residual` tells how far from "
        'fair it stopped, and `solver="newton"` goes to the optimum'
    )
    SWEEP_LIMIT = (
        "sweep limit: the requested number of sweeps was made; `residual` tells how far from fair "
        "it stopped"
    )
    STALLED = (
        "stalled: no step lowers the residual any more; raise `epsilon` or `tol`, allow some "
        "`slack`, or check that `cost` is scaled (its typical entry should be near 1)"
    )
    EVALUATION_LIMIT = (
        "evaluation limit: raise `max_evaluations`, or raise `epsilon`, or pass the duals of a "
        "nearby problem as `init`"
    )
    LP_FAILED = (
        "the linear program failed: rescale `cost` so that its typical entry is near 1, leave out "
        "people whose weight is next to nothing, or use `smooth_otf` with a small `epsilon`"
    )

    @property
    def failed(self) -> bool:
        """Whether the result is not what was asked for."""
        return self in (Status.STALLED, Status.EVALUATION_LIMIT, Status.LP_FAILED)


class TransportError(RuntimeError):
    """A solver failed; the message holds its status, residual and remedy."""
