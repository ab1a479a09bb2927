"""Batches that processes of torch.distributed share: the penalty is that of all their people.

Maths: docs/training.md, "On several processes". Every rank reads the people of all ranks, and its
gradient is that of its own people's scores times the number of ranks, of which
DistributedDataParallel takes the mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
import pandas as pd
import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd.function import once_differentiable

from otfair._io.arrays import Array, to_tensor
from otfair._io.checks import one_line
from otfair._io.processes import ALONE, Processes
from otfair.tables import to_frame

T = TypeVar("T")
ProcessGroup: TypeAlias = Any  # torch.distributed's, which not every build of PyTorch has


@dataclass(frozen=True)
class Call:
    """Who is spoken of, by all ranks, and which of them are here."""

    scores: Tensor  # of the people here, to be differentiated
    features: Array
    sensitive: Array
    labels: Array
    index: Array
    whole: Tensor  # scores of all, (n,), without a gradient
    mine: Tensor | None = None  # (b,) which of them are here; none for all
    processes: Processes = ALONE
    factor: int = 1  # of the slopes, where others take a mean of them

    def gathered(self) -> Call:
        """Return the same call with the scores of all people."""
        if self.mine is None:
            return self
        scores: Tensor = _Gather.apply(self.scores, self.whole, self.mine, self.factor)  # type: ignore[no-untyped-call]
        return replace(self, scores=scores, mine=None, processes=ALONE)

    def shared(self) -> Call:
        """Return the same call with this rank's scores, for a penalty that sums over ranks."""
        if self.mine is None:
            return self
        own = self.whole[self.mine.to(self.whole.device)]
        here = torch.arange(len(own), device=own.device)
        scores: Tensor = _Gather.apply(self.scores, own, here, self.factor)  # type: ignore[no-untyped-call]
        return replace(self, scores=scores)


class Ranks(Processes):
    """The ranks of a process group."""

    def __init__(self, group: ProcessGroup) -> None:
        self._group = group
        self.size, self.rank = dist.get_world_size(group), dist.get_rank(group)
        if self.rank < 0:
            raise ValueError("this process is not in the `process_group` of the loss.")
        on_gpu = dist.get_backend(group) == "nccl"
        self._device = torch.device("cuda", torch.cuda.current_device()) if on_gpu else "cpu"

    def sum(self, values: np.ndarray) -> np.ndarray:
        return self._reduced(values, dist.ReduceOp.SUM)

    def max(self, value: float) -> float:
        return float(self._reduced(np.array([value]), dist.ReduceOp.MAX)[0])

    def together(self, read: Callable[[], T]) -> list[T]:
        own, failed = None, None
        try:
            own = read()
        except Exception as error:  # whatever it is, the others must not wait for this rank
            failed = error
        told: list[Any] = [None] * self.size
        text = None if failed is None else one_line(str(failed)) or type(failed).__name__
        dist.all_gather_object(told, (text, own), group=self._group)
        if failed is not None:
            raise failed
        for rank, (text, _) in enumerate(told):
            if text is not None:
                raise RuntimeError(f"rank {rank} has no penalty, and so no rank has: {text}")
        return [value for _, value in told]

    def _reduced(self, values: np.ndarray, how: Any) -> np.ndarray:
        sums = torch.tensor(values, dtype=torch.float64, device=self._device)
        dist.all_reduce(sums, how, group=self._group)
        return sums.cpu().numpy()


@dataclass(frozen=True)
class Share:
    """The rows of a dataset that one of several processes holds."""

    rows: Tensor  # (b,)
    processes: Processes

    def call(self, scores: Tensor, n: int) -> Call:
        """Return the scores of all n people, which every process learns."""
        here = self.rows.cpu().numpy()
        whole = np.zeros(n)
        whole[here] = scores.detach().cpu().numpy()
        told = torch.from_numpy(self.processes.sum(whole)).to(scores.device)
        return Call(scores, None, None, None, None, told, self.rows, self.processes)


def check_group(process_group: ProcessGroup | bool | None) -> ProcessGroup | None:
    """Return the group that a user asks for: theirs, True for the default one, or none."""
    if process_group is None or isinstance(process_group, bool):
        return process_group or None
    if not dist.is_available() or not isinstance(process_group, dist.ProcessGroup):
        raise TypeError(
            "`process_group` must be one of torch.distributed, True for the default one, or None; "
            f"received {type(process_group).__name__}."
        )
    return process_group


def ranks_of(process_group: ProcessGroup | None) -> Processes:
    """Return the processes that share a batch."""
    if process_group is None:
        return ALONE
    if not dist.is_available() or not dist.is_initialized():
        raise RuntimeError(
            "`process_group` is set, but this process is in none yet; call "
            "`torch.distributed.init_process_group` first, or leave `process_group` out."
        )
    return Ranks(None if process_group is True else process_group)


def join(
    ranks: Processes, read: Callable[[], tuple[Tensor, dict[str, Array]]], mark: Any = None
) -> Call:
    """Tell all ranks who is in the batch of this one; a rank may have nobody.

    `read` gives the scores, and by name what tells whose they are; `mark` is what must be the same
    on all ranks.
    """
    own: list[Any] = []

    def packed() -> tuple[np.ndarray, Any, dict[str, Any]]:
        own.extend(read())
        h = own[0].detach().cpu().numpy()
        return h, mark, _packed(own[1], len(h)) if len(h) else {}

    told = ranks.together(packed)
    scores, given = own
    present = [one for one in told if len(one[0])]
    if len({(m, *sorted(parts)) for _, m, parts in present}) > 1:
        raise ValueError(
            "ranks speak of their people in different ways: all must pass `sensitive`, or all "
            "`index` after a `fit` on the same dataset."
        )
    named = present[0][2] if present else {}
    whole = {name: _joined(name, [parts[name] for _, _, parts in present]) for name in named}
    if isinstance(given["features"], Tensor) and "features" in whole:
        whole["features"] = whole["features"].to(given["features"].device)
    start = sum(len(h) for h, _, _ in told[: ranks.rank])
    return Call(
        scores=scores,
        whole=torch.from_numpy(np.concatenate([h for h, _, _ in told])).to(scores.device),
        mine=torch.arange(start, start + len(scores)),
        processes=ranks,
        factor=ranks.size,
        **{name: whole.get(name) for name in given},
    )


def _packed(given: dict[str, Array], n: int) -> dict[str, Any]:
    """Return what is given of n people as other processes can read it."""
    out: dict[str, Any] = {}
    for name, values in given.items():
        if values is None:
            continue
        if name == "features":
            packed: Any = to_tensor(values, name, ndim=2).cpu()
        elif isinstance(values, Tensor):
            packed = values.detach().cpu()
        elif isinstance(values, np.ndarray | pd.DataFrame | pd.Series):
            packed = values
        else:
            packed = to_frame(values, name, "group") if name == "sensitive" else np.asarray(values)
        if len(packed) != n:
            raise ValueError(
                f"`pred` has {n} entries but `{name}` {len(packed)}; pass one prediction per "
                "person."
            )
        out[name] = packed
    return out


def _joined(name: str, parts: Sequence[Any]) -> Array:
    """Return the rows of all ranks in their order."""
    if len({part.shape[1:] for part in parts}) > 1:
        raise ValueError(
            f"`{name}` must have the same columns on all ranks; it has the shapes "
            f"{', '.join(str(tuple(part.shape)) for part in parts)}."
        )
    if all(isinstance(part, Tensor) for part in parts):
        return torch.cat([*parts])
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate([*parts])
    if all(isinstance(part, pd.DataFrame | pd.Series) for part in parts):
        return pd.concat(parts, ignore_index=True)
    kinds = ", ".join(type(part).__name__ for part in parts)
    raise ValueError(f"`{name}` must be of one kind on all ranks; it is {kinds}.")


class _Gather(torch.autograd.Function):
    """Scores of all people, of which this process's are to be differentiated, times a factor."""

    @staticmethod
    def forward(ctx: Any, own: Tensor, values: Tensor, mine: Tensor, size: int) -> Tensor:
        ctx.save_for_backward(mine.to(own.device))
        ctx.size = size
        return values.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, None, None, None]:
        (mine,) = ctx.saved_tensors
        return ctx.size * slope[mine], None, None, None
