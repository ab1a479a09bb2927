"""The files of a folder change all at once, whoever reads meanwhile and whenever it is killed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mounts import mounted

from otfair._io import folders
from otfair._io.folders import publishing, read_together

PLACES = [str(folder) for folder in Path(__file__).parents[:2]]  # of this file's imports
GRACE = folders.GRACE
NAMES = ("record.json", "model.bin", "extra.txt")


def publish(target: Path, text: str, *names: str, grace: float = 0.0) -> None:
    folders.GRACE = grace
    with publishing(target, NAMES) as folder:
        for name in names or NAMES:
            (folder / name).write_text(text)


def contents(target: Path) -> dict[str, str]:
    return {p.name: p.read_text() for p in target.iterdir() if not p.name.startswith(".")}


def listed(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_a_new_folder_has_plain_files_and_nothing_else(tmp_path):
    publish(tmp_path / "m", "1")
    assert contents(tmp_path / "m") == dict.fromkeys(NAMES, "1")
    assert not any(path.is_symlink() for path in (tmp_path / "m").iterdir())
    assert listed(tmp_path) == ["m"]


def test_a_later_run_replaces_what_it_writes_removes_the_rest_and_leaves_what_is_not_ours(tmp_path):
    target = tmp_path / "m"
    publish(target, "1")
    (target / "notes.txt").write_text("mine")
    inode = target.stat().st_ino
    for text, names in (("2", NAMES[:2]), ("3", NAMES), ("4", NAMES[:1])):
        publish(target, text, *names)
        assert contents(target) == dict.fromkeys(names, text) | {"notes.txt": "mine"}
        link, run = sorted(listed(target / ".otfair"))
        assert link == "current"
        assert run.startswith("run-")  # which looks like nothing that may be thrown away
    assert target.stat().st_ino == inode  # whose working directory it is, stays in it
    assert listed(tmp_path) == ["m"]


def test_a_run_that_fails_leaves_the_earlier_one_and_no_trace(tmp_path):
    def fail() -> None:
        with publishing(target, NAMES) as folder:
            (folder / "model.bin").write_text("half")
            raise RuntimeError("in the middle")

    target = tmp_path / "m"
    for earlier in ({}, {"record.json": "1"}):
        with pytest.raises(RuntimeError, match="in the middle"):
            fail()
        assert target.is_dir() == bool(earlier)
        assert [p.name for p in tmp_path.glob("m/*")] == list(earlier)
        publish(target, "1", "record.json")
    assert listed(tmp_path) == ["m"]


def test_what_a_user_put_in_the_place_of_a_link_is_replaced_with_the_rest(tmp_path):
    target = tmp_path / "m"
    publish(target, "1")
    publish(target, "2")
    (target / "record.json").unlink()
    (target / "record.json").write_text("edited")
    assert read_together(target, NAMES[:2], read) == ["edited", "2"]
    publish(target, "3")
    assert contents(target) == dict.fromkeys(NAMES, "3")


def test_a_folder_can_be_copied_and_moved(tmp_path):
    publish(tmp_path / "m", "1")
    publish(tmp_path / "m", "2")
    (tmp_path / "m").rename(tmp_path / "moved")
    shutil.copytree(tmp_path / "moved", tmp_path / "links", symlinks=True)
    shutil.copytree(tmp_path / "moved", tmp_path / "files")
    for name in ("moved", "links", "files"):
        assert contents(tmp_path / name) == dict.fromkeys(NAMES, "2")
        publish(tmp_path / name, "3")
        assert contents(tmp_path / name) == dict.fromkeys(NAMES, "3")


def read(*paths: Path) -> list[str]:
    return [path.read_text() for path in paths]


# Kills

STEPS = ("mkdir", "rename", "replace", "symlink", "link", "unlink", "rmdir")


def kill_at(step: int, target: Path) -> bool:
    """Publish in a process that ends before its k-th change of the disk; returns whether it did."""
    if process := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 9
    left = iter(range(step))

    def counted(call):
        return lambda *args, **options: (
            os._exit(9) if next(left, None) is None else call(*args, **options)
        )

    for name in STEPS:
        setattr(os, name, counted(getattr(os, name)))
    publish(target, "new", *NAMES[1:])
    os._exit(0)


def kill_at_each_step(target: Path) -> tuple[int, int]:
    """Kill runs at each of their steps; returns how many kept the old files, and had the new."""
    old, new = 0, 0
    for linked in (False, True):
        for step in range(99):
            shutil.rmtree(target, ignore_errors=True)
            for _ in range(1 + linked):
                publish(target, "old", *NAMES[:2])
            (target / "notes.txt").write_text("mine")
            killed = kill_at(step, target)
            after = visible(target)
            assert after.pop("notes.txt") == "mine"
            assert after in (dict.fromkeys(NAMES[:2], "old"), dict.fromkeys(NAMES[1:], "new"))
            old, new = old + ("record.json" in after), new + ("extra.txt" in after)
            publish(target, "next")
            assert contents(target) == dict.fromkeys(NAMES, "next") | {"notes.txt": "mine"}
            assert len(listed(target / ".otfair")) == 2
            assert listed(target.parent) == ["m"]
            if not killed:
                break
    return old, new


def visible(target: Path) -> dict[str, str]:
    """What is there for those who open files: links to nothing are not."""
    return {
        p.name: p.read_text() for p in target.iterdir() if not p.name.startswith(".") and p.exists()
    }


def started(function: str, target: Path, *arguments: str) -> subprocess.Popen[str]:
    """Call a function of this file in a process of its own, which prints what it returns."""
    script = f"""
import sys
from pathlib import Path
sys.path[:0] = {PLACES}
import test_folders
print("ready", flush=True)
print(*test_folders.{function}(Path({str(target)!r}), *{arguments}))
"""
    return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)


def returned(process: subprocess.Popen[str]) -> list[int]:
    """What the function of a process returned, which must have gone well."""
    out, _ = process.communicate()
    assert process.returncode == 0
    return [int(word) for word in out.split() if word != "ready"]


@pytest.mark.slow
def test_whenever_it_is_killed_the_folder_is_whole_and_the_next_run_cleans_up(tmp_path):
    old, new = returned(started("kill_at_each_step", tmp_path / "m"))
    assert old > 15
    assert new > 10


# Readers, and other writers


def read_on(target: Path) -> tuple[int, int, int]:
    """Read until it is done; returns how often it was whole, missing and mixed."""
    whole, missing, mixed = 0, 0, 0
    while not (target.parent / "done").exists():
        try:
            found = set(read_together(target, NAMES, read))
            (target / NAMES[0]).read_text()  # one file is there for everybody
        except FileNotFoundError:
            missing += 1
        else:
            whole, mixed = whole + (len(found) == 1), mixed + (len(found) > 1)
    return whole, missing, mixed


@pytest.mark.slow
def test_readers_never_find_it_missing_or_mixed(tmp_path):
    target = tmp_path / "m"
    publish(target, "first")
    readers = [started("read_on", target) for _ in range(3)]
    for reader in readers:
        assert reader.stdout.readline() == "ready\n"
    for number in range(40):
        publish(target, str(number), grace=GRACE)
    (tmp_path / "done").touch()
    for whole, *wrong in map(returned, readers):
        assert whole > 0
        assert wrong == [0, 0]


def publish_on(target: Path, text: str) -> tuple[()]:
    for number in range(20):
        publish(target, f"{text}{number}")
    return ()


@pytest.mark.slow
def test_of_two_that_write_the_same_folder_one_wins_whole(tmp_path):
    for writer in [started("publish_on", tmp_path / "m", name) for name in "ab"]:
        returned(writer)
    found = contents(tmp_path / "m")
    assert set(found) == set(NAMES)
    assert len(set(found.values())) == 1
    publish(tmp_path / "m", "last")
    assert len(listed(tmp_path / "m" / ".otfair")) == 2
    assert listed(tmp_path) == ["m"]


@pytest.mark.slow
def test_a_mount_point_is_published_into_again_and_again(tmp_path):
    target, script = tmp_path / "volume", tmp_path / "publish.py"
    script.write_text(
        f"import sys\nfrom pathlib import Path\nsys.path[:0] = {PLACES}\n"
        f"from test_folders import publish_on\npublish_on(Path({str(target)!r}), 'a')\n"
    )
    ended = mounted(
        target, "1m", sys.executable, script, "&& cd", target, "&& cat", *NAMES, "&& ls -A"
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == "a19" * 3 + "\n".join([".otfair", *sorted(NAMES), ""])
