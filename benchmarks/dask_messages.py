"""Play the messages of a Newton step on many workers, and time them.

    python benchmarks/dask_messages.py            # rows go to benchmarks/dask_messages.csv

A client sends each of W workers what a task of the step needs, over W connections of this machine,
each worker answers with its sums, and the client adds them up: what a step of `smooth_otf` on Dask
moves, without Dask and without any work. Then the same step by Dask's own scheduler, with W
partitions of a few rows on two worker processes. Less than a minute in all.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import pickle
import struct
import time

import numpy as np
from rows import HERE, Rows

RUNS = HERE / "dask_messages.csv"
MESSAGES = ((100, 20, 8), (100, 200, 60))  # workers, types and rows of G
PARTITIONS = (4, 10, 100)
STEPS = 50
LENGTH = struct.Struct("!Q")


def step_messages(types: int, rows: int) -> tuple[bytes, bytes]:
    """Return what a worker is sent, and what it answers."""
    from otfair.transport._parted import Table

    rng = np.random.default_rng(0)
    V = rng.normal(size=(rows, types))
    table = Table(V, np.zeros(rows), np.ones(types), 1e-3, 1e-3)
    mu = rng.normal(size=rows)
    sums = (rng.normal(size=types), 1.0, 1.0, rng.normal(size=(rows, rows)))
    keys = ["part-" + "0" * 36] * 3  # of the data that the task names
    return pickle.dumps((keys, table, mu)), pickle.dumps(sums)


async def _answer(reader, writer, answer):
    try:
        while True:
            (size,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
            await reader.readexactly(size)
            writer.write(LENGTH.pack(len(answer)) + answer)
            await writer.drain()
    except asyncio.IncompleteReadError:
        writer.close()


def _workers(port, answer):
    async def serve():
        async def one(reader, writer):
            await _answer(reader, writer, answer)

        server = await asyncio.start_server(one, "127.0.0.1", 0)
        port.value = server.sockets[0].getsockname()[1]
        await server.serve_forever()

    asyncio.run(serve())


async def _play(port, workers, task, steps):
    ends = [await asyncio.open_connection("127.0.0.1", port) for _ in range(workers)]

    async def ask(reader, writer):
        writer.write(LENGTH.pack(len(task)) + task)
        (size,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
        return pickle.loads(await reader.readexactly(size))

    seconds = []
    for _ in range(steps):
        began = time.perf_counter()
        found = await asyncio.gather(*(ask(*end) for end in ends))
        sum(f for f, *_ in found)
        sum(H for *_, H in found)
        seconds.append(time.perf_counter() - began)
    for _, writer in ends:
        writer.close()
    return seconds


def play(workers: int, types: int, rows: int) -> dict[str, object]:
    """Return the sizes of messages, and the median time that a step of them takes."""
    task, answer = step_messages(types, rows)
    port = multiprocessing.Value("i", 0)
    process = multiprocessing.Process(target=_workers, args=(port, answer), daemon=True)
    process.start()
    while not port.value:
        time.sleep(0.01)
    seconds = asyncio.run(_play(port.value, workers, task, STEPS))
    process.terminate()
    sizes = {"bytes_to_each": len(task), "bytes_back": len(answer)}
    moved = workers * (len(task) + len(answer) + 2 * LENGTH.size)
    return {**sizes, "bytes_in_all": moved, "milliseconds": 1e3 * np.median(seconds)}


def play_on_dask(workers: int) -> dict[str, object]:
    """Return the median time of a step by Dask's scheduler."""
    import dask.dataframe as dd
    import pandas as pd
    from distributed import Client, LocalCluster

    import otfair

    rng = np.random.default_rng(0)
    n = 20 * workers
    frame = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    frame = frame.assign(sex=rng.choice(["F", "M"], n), race=rng.choice(list("abc"), n))
    frame["h"] = 1 / (1 + np.exp(-frame["a"] - (frame["sex"] == "F")))
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster),
    ):
        rows = dd.from_pandas(frame, npartitions=workers)
        fair = otfair.DemographicParity().constraints(rows[["sex", "race"]])
        solved = otfair.smooth_otf(rows["h"], otfair.PointCloud(rows[["a", "b"]]), fair)
        semi = solved.problem.semi_dual(solved.problem, None, solved.point.reference)
        seconds = []
        for _ in range(STEPS):
            began = time.perf_counter()
            semi.at(solved.mu)
            seconds.append(time.perf_counter() - began)
    return {"milliseconds": 1e3 * np.median(seconds)}


def main() -> None:
    """Add a row for each case that is not there yet."""
    runs = Rows(RUNS, ["by", "workers", "types"])
    for workers, types, rows in MESSAGES:
        if ("messages", workers, types) not in runs:
            key = {"by": "messages", "workers": workers, "types": types, "rows": rows}
            runs.add({**key, **play(workers, types, rows)})
    for workers in PARTITIONS:
        if ("dask", workers, 6) not in runs:
            key = {"by": "dask", "workers": workers, "types": 6, "rows": 5}
            runs.add({**key, **play_on_dask(workers)})


if __name__ == "__main__":
    main()
