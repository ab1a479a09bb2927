"""Folders whose files change all at once, whoever reads them meanwhile and whenever it is killed.

A new folder is moved to its place in one step. In a folder that is there, each file is a link
through one more link, `.otfair/current`, which is replaced in one step, so that the folder itself
can be a mount point or somebody's working directory, and hold other files:

    model/model.json -> .otfair/current/model.json
    model/.otfair/current -> run-1f0c9a3e, the folder of one run
"""

from __future__ import annotations

import contextlib
import errno
import secrets
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from otfair._io.files import follow, locked, naming, part_name, sweep, sync, unfinished

T = TypeVar("T")
CONTROL, CURRENT, NEXT, RUN = ".otfair", "current", "next", "run-"
GRACE = 0.1  # seconds, in which who has just followed the link still finds the earlier files
OVERHEAD = {CONTROL, "lost+found"}  # in a folder that is otherwise empty


@contextlib.contextmanager
def publishing(target: Path, names: Iterable[str]) -> Iterator[Path]:
    """Yield a new folder, whose files become those of `target` at the end if nothing goes wrong.

    `names` are all that may be written; those of them that were there before, and are not written
    now, go. What can't be done at the end is an `OSError` at the beginning.
    """
    target = follow(target)
    there = target.is_dir()
    with naming(target), contextlib.ExitStack() as stack:
        if there:
            control = stack.enter_context(_controlled(target))
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
        sweep(target.parent)
        within = control if there else target.parent
        stage = stack.enter_context(unfinished(target, folder=True, within=within))
        if there:
            _try_link(stage, target)
        yield stage
        for file in stage.iterdir():
            sync(file)
        sync(stage)
        if there or not _move(stage, target):
            _publish(stage, target, list(names))


def read_together(folder: Path, names: Iterable[str], read: Callable[..., T]) -> T:
    """Return what `read` makes of files that are of one run, though another replaces them."""
    while True:
        paths, pinned = _paths(folder, names)
        try:
            found = read(*paths)
        except FileNotFoundError:
            if _paths(folder, names)[0] == paths:
                raise
            continue  # a run that has been replaced
        if pinned or _paths(folder, names)[0] == paths:
            return found


def _paths(folder: Path, names: Iterable[str]) -> tuple[list[Path], bool]:
    """Return where files lie, and whether no later run changes what is there."""
    run = folder / CONTROL / _current(folder / CONTROL)
    ours = [(name, is_ours(folder / name)) for name in names]
    return [run / n if own else folder / n for n, own in ours], all(own for _, own in ours)


def _current(control: Path) -> str:
    try:
        return str((control / CURRENT).readlink())
    except OSError:
        return CURRENT


def is_ours(path: Path) -> bool:
    """Whether a file is a link to that of a run, which may not be there."""
    try:
        return path.readlink() == Path(CONTROL, CURRENT, path.name)
    except OSError:
        return False


@contextlib.contextmanager
def _controlled(target: Path) -> Iterator[Path]:
    """Yield the folder of what is made for `target`, gone at the end if nothing is in it."""
    control = target / CONTROL
    try:
        control.mkdir(exist_ok=True)
        if control.is_symlink():
            raise OSError(errno.ELOOP, "a link, where a folder should be; remove it", str(control))
        with locked(control):
            _tidy(control)
        yield control
    finally:
        with contextlib.suppress(OSError):
            control.rmdir()


def _try_link(stage: Path, target: Path) -> None:
    """Raise where the files of `target` can't be replaced at the end."""
    try:
        (stage / NEXT).symlink_to(CURRENT)
        (stage / NEXT).unlink()
    except OSError as error:
        why = f"{error.strerror}: links, with which its files are replaced at once"
        raise OSError(error.errno, why, str(target)) from None


def _move(stage: Path, target: Path) -> bool:
    """Move a folder to a place where nothing is; returns whether nothing was."""
    try:
        stage.rename(target)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):  # another process was there first
            return False
        raise
    sync(target.parent)
    return True


def _publish(stage: Path, target: Path, names: list[str]) -> None:
    """Make the files of `target` those of `stage`; after each step, all of them are of one run."""
    control = target / CONTROL
    control.mkdir(exist_ok=True)
    with locked(control):
        if any((target / n).exists() and not is_ours(target / n) for n in names):
            _adopt(target, names)
        for file in stage.iterdir():
            _link(target, file.name)
        sync(target)
        _point(control, _settled(stage, control))  # from here on, readers find the new files
        for name in names:
            if is_ours(target / name) and not (target / name).exists():
                (target / name).unlink()
        sync(target)
    time.sleep(GRACE)
    with locked(control):
        _tidy(control)


def _tidy(control: Path) -> None:
    """Remove earlier runs, and what dead processes have left; who calls it holds the lock."""
    sweep(control)
    (control / NEXT).unlink(missing_ok=True)
    current = _current(control)
    for run in control.glob(f"{RUN}*"):
        if run.name != current:
            shutil.rmtree(run, ignore_errors=True)


def _adopt(target: Path, names: list[str]) -> None:
    """Turn plain files into links to what they hold."""
    control = target / CONTROL
    with unfinished(target, folder=True, within=control) as copy:
        for name in names:
            if (target / name).exists():
                _copy(target / name, copy / name)
        sync(copy)
        _point(control, _settled(copy, control))
    for name in names:
        if (target / name).exists():
            _link(target, name)


def _copy(source: Path, copy: Path) -> None:
    if source.is_symlink() and not is_ours(source):
        copy.symlink_to(source.resolve())
        return
    try:
        copy.hardlink_to(source.resolve())
    except OSError:  # not every file system has them, nor may every user
        shutil.copy2(source, copy)
        sync(copy)


def _settled(part: Path, control: Path) -> str:
    """Give a folder of files a name under which it stays when its making ends; returns the name."""
    name = f"{RUN}{secrets.token_hex(4)}"
    part.rename(control / name)
    return name


def _link(target: Path, name: str) -> None:
    if not is_ours(target / name):
        _replace_link(target / CONTROL, f"{CONTROL}/{CURRENT}/{name}", target / name)


def _point(control: Path, name: str) -> None:
    link = control / CURRENT
    if link.is_dir() and not link.is_symlink():  # of a copy that was made through the links
        link.rename(control / part_name(link))
    _replace_link(control, name, link)
    sync(control)


def _replace_link(control: Path, text: str, link: Path) -> None:
    made = control / NEXT
    made.unlink(missing_ok=True)
    made.symlink_to(text)
    made.replace(link)
