"""A file is replaced at once, and a failure leaves nothing behind."""

from __future__ import annotations

import os

import pytest

from otfair._io.files import replacing, write_bytes


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
