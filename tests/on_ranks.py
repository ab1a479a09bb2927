"""What each of two processes of torch.distributed computes for `test_ranks.py`, as a script."""

from __future__ import annotations

import os
import pickle
import sys
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, one_hot
from torch.nn.parallel import DistributedDataParallel

import otfair

N, SPLIT = 40, 13  # people, of whom the first rank has so many
CASES = {
    "otf": (otfair.OTFLoss, {"notion": "equalized_odds"}),
    "otf, dataset": (otfair.OTFLoss, {"notion": "equalized_odds"}),
    "otf, table": (otfair.OTFLoss, {"weigh": "attributes"}),
    "otf, precision": (otfair.OTFLoss, {"notion": "predictive_parity"}),
    "otf, slack": (otfair.OTFLoss, {"slack": 0.01}),
    "otf, bounded": (otfair.OTFLoss, {"bounded": True}),
    "otf, coordinate": (otfair.OTFLoss, {"solver": "coordinate", "max_sweeps": 3}),
    "norm": (otfair.NormLoss, {"notion": "equalized_odds", "p": 2}),
    "norm, precision": (otfair.NormLoss, {"notion": "predictive_parity"}),
    "correlation": (otfair.CorrelationLoss, {}),
    "barycenter": (otfair.BarycenterLoss, {}),
    "barycenter, dataset": (otfair.BarycenterLoss, {}),
}
SHARES = {
    "uneven": (range(SPLIT), range(SPLIT, N)),
    "empty": (range(0), range(N)),
    "one group": (range(25), range(25, N)),  # of which the first 25 are
}
PAIRS = [
    (case, share)
    for case in CASES
    for share in SHARES
    if share == "uneven" or case in ("otf", "otf, dataset", "norm", "barycenter")
]


@dataclass
class People:
    X: Tensor
    S: Tensor
    y: Tensor
    table: dict[str, list[str]] = field(default_factory=dict)


def people() -> People:
    """People in order of their group."""
    rng = torch.Generator().manual_seed(0)
    group = torch.repeat_interleave(torch.arange(3), torch.tensor([25, 9, N - 34]))
    X = torch.randn(N, 3, generator=rng, dtype=torch.float64) + 0.5 * group[:, None]
    y = torch.randint(0, 2, (N,), generator=rng).double()
    y[:2], y[25:27], y[34:36] = (torch.tensor([0.0, 1.0]) for _ in range(3))
    kind = torch.randint(0, 2, (N,), generator=rng)
    table = {"group": [f"g{g}" for g in group], "kind": [f"k{k}" for k in kind]}
    return People(X, one_hot(group, 3).double(), y, table)


def logits(data: People) -> Tensor:
    return data.X @ torch.tensor([1.0, -0.5, 0.2], dtype=torch.float64) + 0.7 * data.S[:, 0]


def make(case: str, group=None) -> otfair.losses.FairnessLoss:
    kind, settings = CASES[case]
    more = {"epsilon": 1e-2, "tol": 1e-11} if kind is otfair.OTFLoss else {}
    if settings.get("solver") == "coordinate":
        more = {"epsilon": 1e-2}
    loss = kind(**settings, **more, process_group=group)
    data = people()
    return loss.fit(data.X, data.S, data.y) if "dataset" in case else loss


def called(loss, case: str, rows, pred: Tensor) -> Tensor:
    """Return the penalty of some people, who are all people in one process."""
    data, rows = people(), list(rows)
    if "dataset" in case:
        return loss(pred, index=torch.tensor(rows, dtype=torch.long))
    sensitive = data.S[rows]
    if "table" in case:
        sensitive = pd.DataFrame({k: np.array(v)[rows] for k, v in data.table.items()})
    return loss(pred, data.X[rows].numpy(), sensitive, data.y[rows])


def value_and_slope(case: str, rows, group=None) -> tuple[float, np.ndarray, dict]:
    """Return the second value of a loss, which starts where the first call ended."""
    loss, rows = make(case, group), list(rows)
    called(loss, case, rows, 0.9 * logits(people())[rows])
    pred = logits(people())[rows].requires_grad_()
    value = called(loss, case, rows, pred)
    (slope,) = torch.autograd.grad(value, pred)
    return float(value.detach()), slope.numpy(), getattr(loss, "_duals", {})


def trained(rows_of_steps, group=None, size: int = 1) -> np.ndarray:
    """Return weights after steps on cross-entropy and penalty, means over the people of all."""
    torch.manual_seed(0)
    data, model = people(), nn.Linear(3, 1).double()
    loss = otfair.OTFLoss("equalized_odds", 1e-2, tol=1e-11, process_group=group)
    net = model if group is None else DistributedDataParallel(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for rows, n in rows_of_steps:
        out, y = net(data.X[rows]).squeeze(1), data.y[rows]
        own = binary_cross_entropy_with_logits(out, y, reduction="sum") * size / n
        optimizer.zero_grad()
        (0.5 * own + 10 * loss(out, data.X[rows], data.S[rows], y)).backward()
        optimizer.step()
    return torch.cat([p.detach().flatten() for p in model.parameters()]).numpy()


def steps(rank: int | None) -> list[tuple[list[int], int]]:
    """Return batches, of all or of one rank, and how many people they have in all."""
    order = torch.randperm(N, generator=torch.Generator().manual_seed(1)).tolist()
    whole = [order[:30], order[10:], order[:7], order[5:35]]
    cuts = [11, 22, 7, 0]  # the second rank has nobody in the third, the first in the last
    if rank is None:
        return [(rows, len(rows)) for rows in whole]
    return [((r[:c], r[c:])[rank], len(r)) for r, c in zip(whole, cuts)]


def slope_by_differences(rank: int) -> tuple[float, float]:
    """Return the mean over ranks of a weight's slopes, and the penalty's by differences."""
    rows, data = list(SHARES["uneven"][rank]), people()
    loss = otfair.OTFLoss("equalized_odds", 1e-2, tol=1e-12, process_group=True)

    def penalty(weight: Tensor) -> Tensor:
        return loss(data.X[rows] @ weight, data.X[rows], data.S[rows], data.y[rows])

    weight = torch.tensor([1.0, -0.5, 0.2], dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(penalty(weight), weight)
    dist.all_reduce(slope)
    step = torch.tensor([1e-4, 0.0, 0.0], dtype=torch.float64)
    with torch.no_grad():
        ahead, behind = float(penalty(weight + step)), float(penalty(weight - step))
    return float(slope[0]) / dist.get_world_size(), (ahead - behind) / 2e-4


def balance(rows, group=None) -> tuple[float, dict[str, float]]:
    data, rows = people(), list(rows)
    loss = otfair.OTFLoss(weigh="attributes", epsilon=1e-2, tol=1e-11, process_group=group)
    table = {name: np.array(values)[rows] for name, values in data.table.items()}
    found = loss.balance_(logits(data)[rows], data.y[rows], data.X[rows], table)
    return found, dict(loss.factors)


def failures(rank: int) -> dict[str, str]:
    """Return what each rank says where one of them can't take part."""
    data, rows = people(), list(SHARES["uneven"][rank])
    loss = otfair.OTFLoss(epsilon=1e-2, process_group=True)
    other = otfair.OTFLoss(epsilon=1e-2, process_group=True)
    other.fit(data.X, data.S if rank else data.S[:, [1, 0, 2]])
    fitted = otfair.OTFLoss(epsilon=1e-2, process_group=True).fit(data.X, data.S)
    own = (data.X[rows], data.S[rows])
    z = logits(data)[rows]
    wrong = {
        "prediction": lambda: loss(z[:, None, None] if rank else z, *own),
        "length": lambda: loss(z, own[0], own[1][1:] if rank else own[1]),
        "columns": lambda: loss(z, own[0][:, : 2 + rank], own[1]),
        "modes": lambda: fitted(z, index=rows) if rank else fitted(z, *own),
        "datasets": lambda: other(z, index=rows),
        "no index": lambda: fitted(z),
        "labels": lambda: loss.balance_(z, data.y if rank else data.y[rows], *own),
    }
    said = {}
    for name, call in wrong.items():
        try:
            call()
        except (RuntimeError, TypeError, ValueError) as error:
            said[name] = f"{type(error).__name__}: {error}"
    said["afterwards"] = str(float(loss(z, *own)))
    return said


def lonely(rank: int) -> str:
    """Return what a rank says whose others never come."""
    group = dist.new_group([0, 1], timeout=timedelta(seconds=2))
    if rank:
        return ""
    data = people()
    try:
        otfair.OTFLoss(process_group=group)(logits(data), data.X, data.S)
    except RuntimeError as error:
        return str(error)
    return "it went on"


def main(rank: int, folder: str) -> None:
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    wait = timedelta(seconds=60)
    dist.init_process_group("gloo", f"file://{folder}/store", wait, world_size=2, rank=rank)
    found = {
        (case, share): value_and_slope(case, SHARES[share][rank], True) for case, share in PAIRS
    }
    nobody = torch.zeros(0, requires_grad=True)
    empty = otfair.OTFLoss(process_group=True)(nobody, torch.zeros(0, 3), torch.zeros(0, 3))
    empty.backward()
    own = dist.new_group([rank], use_local_synchronization=True)
    out = {
        "values": found,
        "weights": trained(steps(rank), True, 2),
        "differences": slope_by_differences(rank),
        "balance": balance(SHARES["uneven"][rank], True),
        "failures": failures(rank),
        "nobody": (float(empty.detach()), nobody.grad.shape),
        "own group": value_and_slope("otf", range(N), own)[0],
        "lonely": lonely(rank),
    }
    (Path(folder) / f"{rank}.pkl").write_bytes(pickle.dumps(out))
    dist.barrier()  # who is done waits for who is not


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
