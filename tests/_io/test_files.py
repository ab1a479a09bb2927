"""A file is replaced at once, and a failure leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from otfair._io import files
from otfair._io.files import part_name, replacing, sweep, unfinished, write_bytes
from otfair._io.folders import publishing


def test_a_file_is_replaced_when_it_is_whole(tmp_path):
    target = tmp_path / "a.csv"
    write_bytes(target, b"old")
    with replacing(target) as part:
        assert (part.parent, part.suffix) == (tmp_path, ".csv")
        part.write_bytes(b"new")
        assert target.read_bytes() == b"old"
    assert target.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [target]


def test_a_failure_leaves_what_was_there(tmp_path):
    target = tmp_path / "a.csv"
    write_bytes(target, b"old")

    def fail() -> None:
        with replacing(target) as part:
            part.write_bytes(b"half")
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        fail()
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_bytes(tmp_path / "no" / "a", b"")


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    write_bytes(path, b"old")
    monkeypatch.setattr("pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        write_bytes(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_link_points_to_is_replaced_and_the_link_stays(tmp_path):
    target, link = tmp_path / "real", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write_bytes(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_what_is_no_file_is_never_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for target in (pipe, tmp_path):
        with pytest.raises(OSError, match="a folder, a device or a pipe; name a file"):
            write_bytes(target, b"new")
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_who_may_read_a_file_does_not_change(tmp_path):
    target = tmp_path / "page.html"
    write_bytes(target, b"old")
    target.chmod(0o600)
    write_bytes(target, b"new")
    assert target.stat().st_mode & 0o777 == 0o600


def test_links_that_go_in_circles_are_an_error(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(OSError, match=r"[Ll]oop|levels of symbolic links"):
        write_bytes(tmp_path / "a", b"")


# Interrupts


def interrupted(line: int, making) -> bool:
    """Begin something, with Ctrl-C before a line of it or in its midst; returns whether before."""
    room, left = str(Path(files.__file__).parent), float(line)

    def step(_, event, __):
        nonlocal left
        left -= event == "line"
        if left < 0:
            left = float("inf")
            raise KeyboardInterrupt
        return step

    earlier, begun = sys.gettrace(), False
    sys.settrace(lambda frame, *_: step if frame.f_code.co_filename.startswith(room) else None)
    try:
        with making:
            left, begun = float("inf"), True
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        return not begun
    finally:
        sys.settrace(earlier)


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: replacing(folder / "a"),
        lambda folder: unfinished(folder / "a", folder=True),
        lambda folder: publishing(folder / "a", ["b"]),
        lambda folder: publishing(folder, ["b"]),
    ],
    ids=["file", "unfinished folder", "folder", "folder that is there"],
)
def test_an_interrupt_leaves_nothing_wherever_it_comes(tmp_path, make):
    line = 0
    while interrupted(line, make(tmp_path)):
        assert list(tmp_path.iterdir()) == [], f"before line {line}"
        line += 1
    assert list(tmp_path.iterdir()) == []
    assert line > 10


# What killed processes leave

KILLED = """
import os, sys
from pathlib import Path
from otfair._io.files import replacing, unfinished
with replacing(Path(sys.argv[1])) as part, unfinished(Path(sys.argv[1]), folder=True) as folder:
    part.write_bytes(b"half")
    (folder / "file").write_bytes(b"half")
    print("begun", flush=True)
    sys.stdin.read()
    os._exit(9)
"""


def test_parts_of_the_dead_are_swept_and_those_of_the_living_are_not(tmp_path):
    target = tmp_path / "a.csv"
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, target], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout.readline() == b"begun\n"
    write_bytes(tmp_path / "b.csv", b"new")
    assert len(list(tmp_path.glob(".a.*.part*"))) == 2  # it lives
    process.communicate()
    assert len(list(tmp_path.glob(".a.*.part*"))) == 2
    write_bytes(tmp_path / "b.csv", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["b.csv"]


def test_what_only_looks_like_a_part_stays(tmp_path, monkeypatch):
    names = [".a.part.csv", "a.csv.part", ".a.123-abc.part.csv", part_name(tmp_path / "a")[1:]]
    for name in names:
        (tmp_path / name).touch()
    (tmp_path / part_name(tmp_path / "link")).symlink_to(tmp_path / names[0])
    os.mkfifo(tmp_path / part_name(tmp_path / "pipe"))
    before = sorted(tmp_path.iterdir())
    sweep(tmp_path)
    assert sorted(tmp_path.iterdir()) == before
    # Nor does what is another user's.
    (tmp_path / part_name(tmp_path / "theirs")).touch()
    monkeypatch.setattr(files, "_user", lambda: os.geteuid() + 1)
    sweep(tmp_path)
    assert len(list(tmp_path.iterdir())) == len(before) + 1


def test_parts_of_another_machine_are_swept_when_they_are_old(tmp_path, monkeypatch):
    part = tmp_path / part_name(tmp_path / "a.csv")
    part.touch()
    monkeypatch.setattr(files, "_machine", lambda: ("000000", "111111"))
    sweep(tmp_path)
    assert part.exists()  # it may be alive there
    os.utime(part, (time.time() - 2 * files.DAY,) * 2)
    sweep(tmp_path)
    assert not part.exists()


def test_a_part_that_was_taken_for_dead_in_its_first_moment_is_made_again(tmp_path, monkeypatch):
    lock, names = files._lock, []

    def swept_first(opened: int, wait: bool) -> bool:
        if not names:
            names.extend(path.name for path in tmp_path.iterdir())
            (tmp_path / names[0]).unlink()
        return lock(opened, wait)

    monkeypatch.setattr(files, "_lock", swept_first)
    write_bytes(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"
    assert len(names) == 1


def test_names_as_long_as_can_be(tmp_path):
    target = tmp_path / ("é" * 125 + ".csv")
    write_bytes(target, b"new")
    assert target.read_bytes() == b"new"


# Links that others planted


def test_a_link_of_another_user_is_not_followed(tmp_path, monkeypatch):
    if os.geteuid() != 0:
        pytest.skip("only root can make files of other users")
    shared, private = tmp_path / "shared", tmp_path / "private"
    shared.mkdir(mode=0o777)
    private.mkdir()
    (private / "secret").write_bytes(b"mine")
    for name, leads in (("out.csv", private / "secret"), ("folder", private)):
        (shared / name).symlink_to(leads)
        os.lchown(shared / name, 12345, 12345)
    for target in (shared / "out.csv", shared / "folder" / "secret", shared / "folder" / "new"):
        with pytest.raises(PermissionError, match="made by another user"):
            write_bytes(target, b"new")
    assert [(p.name, p.read_bytes()) for p in private.iterdir()] == [("secret", b"mine")]
    # One's own are, and those of whom the folder belongs to, who could put any file there.
    os.lchown(shared / "out.csv", os.geteuid(), -1)
    write_bytes(shared / "out.csv", b"new")
    os.chown(shared, 12345, -1)
    write_bytes(shared / "folder" / "secret", b"newer")
    assert (private / "secret").read_bytes() == b"newer"


def test_links_lead_where_the_system_says(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "to_b").symlink_to("a/b")
    (tmp_path / "a" / "up").symlink_to("../to_b/../c")
    for path in ("to_b/../d", "a/up", "to_b", "a/../a/up/./x"):
        assert str(files.follow(tmp_path / path)) == os.path.realpath(tmp_path / path)


def test_what_another_user_planted_does_not_decide_who_may_write(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root can make files of other users")
    target = tmp_path / "out.csv"
    target.touch()
    target.chmod(0o666)
    os.chown(target, 12345, -1)
    write_bytes(target, b"new")
    assert target.stat().st_mode & 0o777 == 0o644


def test_an_error_names_the_file_that_the_user_knows(tmp_path):
    def fill() -> None:
        with replacing(tmp_path / "a.csv"):
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match=r"No space left on device: '.*/a\.csv'"):
        fill()
