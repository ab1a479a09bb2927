"""Locating, verifying and downloading raw files, against a server on this machine."""

import contextlib
import dataclasses
import errno
import gzip
import hashlib
import http.server
import io
import itertools
import logging
import os
import subprocess
import sys
import threading
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import otfair
from otfair import DatasetError
from otfair._io import files, progress
from otfair.datasets import SOURCES, _download, _files
from otfair.datasets._files import DataFile, fetch, read

CONTENT = b"".join(b"%d,some,row\n" % i for i in range(20000))
FILE = DataFile(
    name="table.csv",
    size=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
)


BOMB = bytes(50_000_000)  # far more than the 289 kB of the file, and next to nothing compressed


@dataclasses.dataclass
class Answer:
    """One answer of the server; it announces `length` bytes and may send fewer."""

    body: bytes = b""
    status: int = 200
    length: int | None = None  # None: that of the body; -1: none announced
    before: Callable[[], object] = lambda: None
    after: Callable[[], object] = lambda: None


class Server:
    """Serves the queued answers of a path in turn, the last one for ever."""

    def __init__(self):
        self.answers = {}
        self.requests = []
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                owner.requests.append(self.path)
                queue = owner.answers.get(self.path, [Answer(status=404)])
                answer = queue.pop(0) if len(queue) > 1 else queue[0]
                answer.before()
                self.send_response(answer.status)
                if answer.length != -1:
                    length = len(answer.body) if answer.length is None else answer.length
                    self.send_header("Content-Length", str(length))
                self.end_headers()
                with contextlib.suppress(ConnectionError):  # a client may have had enough
                    self.wfile.write(answer.body)
                answer.after()

            def log_message(self, *args):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.base = f"http://127.0.0.1:{self._server.server_port}"

    def serve(self, path, *answers):
        self.answers[path] = list(answers)
        return self.base + path

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def server():
    server = Server()
    yield server
    server.close()


@pytest.fixture
def home(tmp_path):
    return tmp_path / "not" / "made" / "yet"


def file_at(*urls):
    return dataclasses.replace(FILE, urls=urls)


def zipped(members, method=zipfile.ZIP_DEFLATED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@contextlib.contextmanager
def little_memory():
    """Fail if the block holds much more than the file should have, let alone all of `BOMB`."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < len(BOMB) / 4
    finally:
        tracemalloc.stop()


def everything_in(folder):
    return sorted(p.name for p in folder.rglob("*")) if folder.exists() else []


def error_of(file, home):
    """The error of a failed download, which must say what to put where and leave nothing."""
    with pytest.raises(DatasetError) as caught:
        fetch(file, home, progress=False, backoff=0.001)
    assert everything_in(home) == []
    message = str(caught.value)
    assert file.name in message
    assert str(home) in message
    assert file.sha256 in message
    assert "OTFAIR_DATA_HOME" in message
    return message


# Downloads


def test_good_file_is_stored_under_its_name(server, home):
    path = fetch(file_at(server.serve("/a", Answer(CONTENT))), home, progress=False)
    assert path == home / "table.csv"
    assert path.read_bytes() == CONTENT
    assert everything_in(home) == ["table.csv"]


def test_stored_file_is_readable_by_others(server, home):
    # A cache shared by a group follows the umask, as every other new file does.
    path = fetch(file_at(server.serve("/a", Answer(CONTENT))), home, progress=False)
    ordinary = home / "ordinary"
    ordinary.touch()
    assert path.stat().st_mode == ordinary.stat().st_mode


def test_progress_goes_to_standard_error_only(server, home, capsys, monkeypatch):
    monkeypatch.setattr(progress, "_watched", lambda: True)
    file = file_at(server.serve("/a", Answer(CONTENT)))
    fetch(file, home)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "table.csv: 100%" in captured.err
    fetch(file, home, progress=False)
    assert capsys.readouterr() == ("", "")


def test_wrong_hash_is_refused_at_once(server, home):
    url = server.serve("/a", Answer(CONTENT.replace(b"some", b"SOME")))
    message = error_of(file_at(url), home)
    assert "its sha256 is" in message
    assert server.requests == ["/a"]


@pytest.mark.parametrize("announced", [None, -1])
def test_larger_file_is_refused(server, home, announced):
    # Announced or not, the rest is not read into memory.
    url = server.serve("/a", Answer(BOMB, length=announced))
    with little_memory():
        assert "bytes" in error_of(file_at(url), home)
    assert server.requests == ["/a"]


def test_cut_off_download_is_tried_again(server, home):
    half = Answer(CONTENT[: len(CONTENT) // 2], length=len(CONTENT))
    url = server.serve("/a", half, Answer(CONTENT))
    assert fetch(file_at(url), home, progress=False, backoff=0.001).read_bytes() == CONTENT
    assert len(server.requests) == 2


def test_download_that_is_always_cut_off_is_an_error(server, home):
    half = Answer(CONTENT[: len(CONTENT) // 2], length=len(CONTENT))
    message = error_of(file_at(server.serve("/a", half)), home)
    assert "cut off" in message
    assert f"{_download.ATTEMPTS} attempts" in message
    assert len(server.requests) == _download.ATTEMPTS


def test_cut_off_without_announced_length_is_an_error(server, home):
    url = server.serve("/a", Answer(CONTENT[:1000], length=-1))
    assert f"1000 bytes of the expected {len(CONTENT)}" in error_of(file_at(url), home)


def test_server_errors_then_success(server, home, caplog):
    url = server.serve("/a", Answer(status=500), Answer(status=503), Answer(CONTENT))
    with caplog.at_level(logging.WARNING, logger="otfair"):
        path = fetch(file_at(url), home, progress=False, backoff=0.001)
    assert path.read_bytes() == CONTENT
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 2
    assert "503" in caplog.text


def test_waits_double(server, home, monkeypatch):
    waits = []
    monkeypatch.setattr(_download.time, "sleep", waits.append)
    url = server.serve(
        "/a", Answer(status=500), Answer(status=500), Answer(status=500), Answer(CONTENT)
    )
    fetch(file_at(url), home, progress=False)
    assert waits == [1, 2, 4]


def test_not_found_is_not_tried_again(server, home):
    assert "404" in error_of(file_at(server.base + "/nothing"), home)
    assert server.requests == ["/nothing"]


def test_no_network(home):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), None) as closed:
        url = f"http://127.0.0.1:{closed.server_port}/a"
    message = error_of(file_at(url), home)
    assert "no connection" in message
    assert "Connection refused" in message


def test_second_home_serves_where_the_first_fails(server, home):
    good = server.serve("/good", Answer(CONTENT))
    file = file_at(server.base + "/gone", good)
    assert fetch(file, home, progress=False).read_bytes() == CONTENT
    # All failures are told, one by one.
    wrong = server.serve("/wrong", Answer(CONTENT[::-1]))
    message = error_of(file_at(server.base + "/gone", wrong), home.parent / "other")
    assert "/gone: the server answered 404" in message
    assert "/wrong: the file is another one" in message


# Archives


def test_member_of_an_archive(server, home):
    # Whatever its folder, among others, some of them with names made to climb out of a folder.
    archive = zipped({"../../table.txt": "x", "folder/table.csv": CONTENT, "b/._table.csv": "y"})
    url = server.serve("/a.zip", Answer(archive))
    assert fetch(file_at(url), home, progress=False).read_bytes() == CONTENT
    assert everything_in(home) == ["table.csv"]


def test_path_of_a_member_is_never_used(server, home):
    url = server.serve("/a.zip", Answer(zipped({"../../table.csv": CONTENT})))
    assert fetch(file_at(url), home, progress=False) == home / "table.csv"
    assert everything_in(home.parents[2]) == ["made", "not", "table.csv", "yet"]


def test_archive_bomb_is_not_unpacked(server, home):
    bomb = zipped({"table.csv": BOMB})
    assert len(bomb) < FILE.size  # small enough to be fetched
    with little_memory():
        message = error_of(file_at(server.serve("/a.zip", Answer(bomb))), home)
    assert f"more than the expected {FILE.size} bytes" in message


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"<html>not an archive</html>", "not a sound zip archive"),
        (zipped({"another.csv": b"x"}), "0 files called table.csv"),
        (zipped({"a/table.csv": b"x", "b/table.csv": b"y"}), "2 files called table.csv"),
    ],
)
def test_wrong_archive(server, home, body, said):
    assert said in error_of(file_at(server.serve("/a.zip", Answer(body))), home)


def test_damaged_archive(server, home):
    archive = bytearray(zipped({"table.csv": CONTENT}))
    archive[1000] ^= 255
    assert "sound zip" in error_of(file_at(server.serve("/a.zip", Answer(bytes(archive)))), home)


def test_wherever_an_archive_is_damaged():
    # The readers of its parts raise all sorts of errors; each must become ours.
    whole = zipped({"é.txt": b"x", "table.csv": CONTENT[:200]})
    refused = 0
    for position, change in itertools.product(range(len(whole)), (1, 2, 128, 255)):
        damaged = bytearray(whole)
        damaged[position] ^= change
        with contextlib.suppress(DatasetError):
            _download._member(bytes(damaged), "table.csv", 200)
            continue
        refused += 1
    assert refused > len(whole)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_methods_that_unpack_without_bound_are_refused(server, home, method):
    # Of these, the standard library unpacks a whole block before it looks at the size asked for.
    url = server.serve("/a.zip", Answer(zipped({"table.csv": BOMB}, method)))
    with little_memory():
        assert "neither stored nor deflated" in error_of(file_at(url), home)


# What is on disk afterwards


def start_process(url, home):
    program = (
        "import pathlib, sys\n"
        "from otfair.datasets._files import DataFile, fetch\n"
        "name, size, digest, url, home = sys.argv[1:]\n"
        "file = DataFile(name=name, size=int(size), sha256=digest, urls=(url,))\n"
        "fetch(file, pathlib.Path(home), progress=False)\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", program, FILE.name, str(FILE.size), FILE.sha256, url, str(home)],
        env=os.environ | {"PYTHONPATH": str(Path(otfair.__file__).parents[1])},
        stderr=subprocess.PIPE,
    )


@pytest.mark.slow
def test_two_processes_at_once(server, home):
    # Neither gets its answer before both have asked.
    both = threading.Barrier(2, timeout=30)
    url = server.serve("/a", Answer(CONTENT, before=both.wait))
    processes = [start_process(url, home) for _ in range(2)]
    outcomes = [(p.communicate(timeout=60)[1], p.returncode) for p in processes]
    assert outcomes == [(b"", 0), (b"", 0)]
    assert everything_in(home) == ["table.csv"]
    assert (home / "table.csv").read_bytes() == CONTENT


@pytest.mark.slow
def test_process_killed_in_mid_download_leaves_nothing(server, home):
    sent, killed = threading.Event(), threading.Event()

    def stall():
        sent.set()
        killed.wait(30)

    half = CONTENT[: len(CONTENT) // 2]
    process = start_process(server.serve("/a", Answer(half, length=FILE.size, after=stall)), home)
    assert sent.wait(30)
    process.kill()
    process.communicate(timeout=30)
    killed.set()
    assert everything_in(home) == []


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OSError(errno.ENOSPC, "disk full")])
def test_interrupted_write_leaves_nothing(server, home, monkeypatch, failure):
    def fail(_):
        raise failure

    monkeypatch.setattr(files.os, "fsync", fail)
    expected = KeyboardInterrupt if isinstance(failure, KeyboardInterrupt) else DatasetError
    with pytest.raises(expected):
        fetch(file_at(server.serve("/a", Answer(CONTENT))), home, progress=False)
    assert everything_in(home) == []


def test_interrupted_download_leaves_nothing(server, home, monkeypatch):
    def interrupt(self, amount):
        raise KeyboardInterrupt

    monkeypatch.setattr(progress, "_watched", lambda: False)
    monkeypatch.setattr(progress.Lines, "update", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fetch(file_at(server.serve("/a", Answer(CONTENT))), home)
    assert everything_in(home) == []


def test_readers_see_the_old_file_or_the_new_one(server, home):
    # A process that has opened the old file goes on reading the old file.
    home.mkdir(parents=True)
    (home / "table.csv").write_bytes(b"old content")
    with (home / "table.csv").open("rb") as opened:
        fetch(file_at(server.serve("/a", Answer(CONTENT))), home, progress=False)
        assert opened.read() == b"old content"
    assert (home / "table.csv").read_bytes() == CONTENT


def test_folder_that_can_not_be_made(server, tmp_path):
    obstacle = tmp_path / "a file"
    obstacle.touch()
    with pytest.raises(DatasetError, match="writable folder"):
        fetch(file_at(server.serve("/a", Answer(CONTENT))), obstacle / "home", progress=False)


# The folder


def test_order_of_folders(monkeypatch, tmp_path):
    monkeypatch.setenv("OTFAIR_DATA_HOME", str(tmp_path / "variable"))
    assert _files.resolve_home(tmp_path / "argument") == tmp_path / "argument"
    assert _files.resolve_home() == tmp_path / "variable"
    # Set to nothing is not set.
    monkeypatch.setenv("OTFAIR_DATA_HOME", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert "otfair" in _files.resolve_home().parts
    assert _files.resolve_home("~") == Path.home()


def test_plain_and_compressed_read_alike(tmp_path):
    (tmp_path / "table.csv.gz").write_bytes(gzip.compress(CONTENT))
    assert _files.find(FILE, tmp_path) == tmp_path / "table.csv.gz"
    assert read(FILE, tmp_path / "table.csv.gz") == CONTENT
    (tmp_path / "table.csv").write_bytes(CONTENT)
    assert _files.find(FILE, tmp_path) == tmp_path / "table.csv"
    assert read(FILE, tmp_path / "table.csv") == CONTENT


@pytest.mark.parametrize(
    ("name", "stored", "said"),
    [
        ("table.csv", CONTENT[:-1], "bytes of the expected"),
        ("table.csv", CONTENT + b"\n", "more than the expected"),
        ("table.csv", CONTENT.replace(b"some", b"SOME"), "its sha256 is"),
        ("table.csv.gz", gzip.compress(CONTENT)[:-2000], "cut off or not a gzip file"),
        ("table.csv.gz", b"not gzip", "cut off or not a gzip file"),
        ("table.csv", BOMB, "more than the expected"),
        ("table.csv.gz", gzip.compress(BOMB), "more than the expected"),
    ],
)
def test_damaged_files_are_named(tmp_path, name, stored, said):
    (tmp_path / name).write_bytes(stored)
    with little_memory(), pytest.raises(DatasetError) as caught:
        read(FILE, tmp_path / name)
    assert said in str(caught.value)
    assert str(tmp_path / name) in str(caught.value)
    assert FILE.sha256 in str(caught.value)


# The public functions


@pytest.fixture
def served(server, monkeypatch):
    """Bank's place in the table taken by a file of the local server."""
    file = file_at(server.serve("/a", Answer(CONTENT)))
    source = dataclasses.replace(SOURCES["bank"], files=(file,))
    monkeypatch.setitem(SOURCES, "bank", source)


def test_download_verify_locate(served, server, home):
    assert otfair.locate_dataset("bank", home) == {}
    with pytest.raises(DatasetError, match="is not in"):
        otfair.verify_dataset("bank", home)
    found = {"table.csv": home / "table.csv"}
    assert otfair.download_dataset("bank", home, progress=False) == found
    assert otfair.verify_dataset("bank", home) == found
    assert otfair.locate_dataset("bank", home) == found
    # What is there and sound is not fetched again.
    otfair.download_dataset("bank", home, progress=False)
    assert len(server.requests) == 1


def test_download_replaces_a_damaged_file(served, home):
    home.mkdir(parents=True)
    (home / "table.csv").write_bytes(b"damaged")
    with pytest.raises(DatasetError, match=r"(?s)Remove it.*download_dataset"):
        otfair.verify_dataset("bank", home)
    otfair.download_dataset("bank", home, progress=False)
    assert read(FILE, home / "table.csv") == CONTENT


def test_damaged_file_without_a_public_home(tmp_path):
    (tmp_path / "dutch.csv").write_bytes(b"damaged")
    with pytest.raises(DatasetError, match=r"(?s)no sound `dutch\.csv`.*no open download"):
        otfair.download_dataset("dutch", tmp_path)
    assert (tmp_path / "dutch.csv").read_bytes() == b"damaged"


def test_verify_lists_every_problem(tmp_path):
    (tmp_path / "adult.test").write_bytes(b"damaged")
    with pytest.raises(DatasetError) as caught:
        otfair.verify_dataset("adult", tmp_path)
    assert "`adult.data` is not in" in str(caught.value)
    assert "adult.test is damaged" in str(caught.value)


def test_loading_may_be_kept_off_the_network(served, server, home):
    with pytest.raises(DatasetError, match=r"table\.csv"):
        otfair.load_dataset("bank", home, download=False)
    assert server.requests == []


def test_load_downloads_once_and_then_reads_the_cache(server, home, monkeypatch, data_home):
    (file,) = SOURCES["bank"].files
    content = read(file, _files.find(file, data_home))
    archive = zipped({"bank-additional/bank-additional-full.csv": content})
    url = server.serve("/bank-additional.zip", Answer(archive))
    file = dataclasses.replace(file, urls=(url,))
    monkeypatch.setitem(SOURCES, "bank", dataclasses.replace(SOURCES["bank"], files=(file,)))
    assert len(otfair.load_dataset("bank", home).y) == 41188
    assert len(otfair.load_dataset("bank", home).y) == 41188
    assert len(server.requests) == 1
    assert everything_in(home) == ["bank-additional-full.csv"]


def test_dutch_says_whom_to_ask(home):
    with pytest.raises(DatasetError) as caught:
        otfair.load_dataset("dutch", home)
    for part in ("dutch.csv", str(home), "tailequy/fairness_dataset", "ipums.org"):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    "function",
    [
        otfair.load_dataset,
        otfair.locate_dataset,
        otfair.download_dataset,
        otfair.verify_dataset,
    ],
)
def test_unknown_name_lists_the_known_ones(function):
    with pytest.raises(
        ValueError, match=r"'adul'.*adult, bank, dutch, diabetes, acs_income, synthetic"
    ):
        function("adul")


def test_synthetic_has_no_files(home):
    for function in (otfair.locate_dataset, otfair.download_dataset, otfair.verify_dataset):
        assert function("synthetic", home) == {}


def test_every_file_has_a_home_or_a_source():
    files = [file for source in SOURCES.values() for file in source.files]
    assert len({file.name for file in files}) == len(files) == 7
    for file in files:
        assert bool(file.urls) != bool(file.source)
        assert len(file.sha256) == 64
        assert all(url.startswith("https://archive.ics.uci.edu/") for url in file.urls)
