"""Files that others see whole or not at all, and what killed processes left of them.

What is not finished has a name of its own and is locked as long as its process lives. The system
drops the lock when the process ends, in whatever way, so that a part without one is left over.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import platform
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows, where nothing is locked, and so nothing is swept
    fcntl = None  # type: ignore[assignment]

PART = re.compile(r"\..*\.(\w{6})-(\w{6})-\w{8}\.part(\..*)?", re.DOTALL)
DAY = 86400.0
LINKS = 40  # that one path may lead through, as on Linux


@contextlib.contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Yield the path of a new file, which becomes `target` at the end if nothing goes wrong.

    Where `target` is a link, what it points to is replaced, and not the link.
    """
    target = follow(target)
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "a folder, a device or a pipe; name a file", str(target))
    sweep(target.parent)
    with naming(target), unfinished(target) as part:
        if target.exists():
            _keep_mode(target, part)
        yield part
        sync(part)
        part.replace(target)
        sync(target.parent)


def write_bytes(target: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    with replacing(target) as part:
        part.write_bytes(data)


@contextlib.contextmanager
def naming(target: Path) -> Iterator[None]:
    """Name `target`, which the user knows, in errors that name a part of it, or nothing."""
    try:
        yield
    except OSError as error:
        named = "" if error.filename is None else str(error.filename)
        is_part = any(map(PART.fullmatch, Path(named).parts))
        if error.errno is not None and (is_part or not named):
            error.filename, error.filename2 = str(target), None
        raise


@contextlib.contextmanager
def unfinished(target: Path, folder: bool = False, within: Path | None = None) -> Iterator[Path]:
    """Yield a new file or folder, locked and gone at the end if it was not moved elsewhere.

    It lies next to `target`, for which it is, or `within` a folder, so that a move is one step.
    """
    part = (target.parent if within is None else within).absolute() / part_name(target)
    lock = None
    try:
        lock = _create(part, folder)  # within, as an interrupt may come as soon as it is there
        yield part
    except OSError as error:
        if part.parent.exists():
            raise
        gone = os.strerror(errno.ENOENT)  # whatever came of that
        raise FileNotFoundError(errno.ENOENT, gone, str(part)) from error
    finally:
        with contextlib.suppress(OSError):
            _remove(part)
        if lock is not None:
            os.close(lock)


def part_name(target: Path) -> str:
    """Return a new name for what is to become `target`, a file or a folder."""
    # One for each writer, not much longer than that of the target; the same suffix, by which some
    # writers choose a format.
    suffix = target.suffix if len(target.suffix) <= 20 else ""
    host, boot = _machine()
    return f".{target.stem[:40]}.{host}-{boot}-{secrets.token_hex(4)}.part{suffix}"


def sweep(folder: Path) -> None:
    """Remove from a folder what dead processes of this user have left unfinished."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        left = [(Path(e.path), found) for e in entries if (found := PART.fullmatch(e.name))]
        for path, found in left:
            with contextlib.suppress(OSError):
                _sweep(path, set(found.groups()[:2]))


def follow(path: Path) -> Path:
    """Return where a path leads, through links of this user, of root, or of a folder's owner only.

    In a folder that others can write to, anybody can plant a link that leads to your files.
    """
    todo, found, links = list(reversed(path.absolute().parts)), Path(), 0
    while todo:
        part = todo.pop()
        found = found.parent if part == ".." else found / part
        if not found.is_symlink():
            continue
        owner, links = found.lstat().st_uid, links + 1
        if owner not in (_user(), 0, found.parent.stat().st_uid):
            raise PermissionError(
                errno.EPERM, "this link was made by another user; name the place it leads to", found
            )
        if links > LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        todo += reversed(found.readlink().parts)
        found = found.parent
    return found


def sync(path: Path) -> None:
    """Have a file or folder written to the disk, to be there after a power cut."""
    opened = _open(path)
    try:
        os.fsync(opened)
    except OSError:
        if not path.is_dir():  # for folders, some file systems do not know how
            raise
    finally:
        os.close(opened)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder for oneself, where the file system can lock."""
    opened = _open(folder)
    try:
        _lock(opened, wait=True)
        yield
    finally:
        os.close(opened)


def _create(part: Path, folder: bool) -> int | None:
    """Make a part and lock it; returns what holds the lock."""
    while True:
        if folder:
            part.mkdir()
        else:
            part.touch(exist_ok=False)
        if fcntl is None:
            return None
        # Between these steps another process may take it for one that is left over.
        with contextlib.suppress(FileNotFoundError):
            lock = _open(part)
            _lock(lock, wait=True)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(lock), part.stat()):
                    return lock
            os.close(lock)


def _machine() -> tuple[str, str]:
    """Return what names this machine: its host name, and its boot, which containers share."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    texts = platform.node(), boot.read_text() if boot.exists() else platform.node()
    host, booted = (hashlib.sha256(text.encode()).hexdigest()[:6] for text in texts)
    return host, booted


def _sweep(path: Path, machine: set[str]) -> None:
    about = path.lstat()
    is_part = stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode)
    if not is_part or about.st_uid != _user():
        return
    # Locks of other machines do not reach here through every network drive.
    if machine.isdisjoint(_machine()) and time.time() - about.st_mtime < DAY:
        return
    opened = _open(path)
    try:
        if _lock(opened, wait=False):
            _remove(path)
    finally:
        os.close(opened)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        gone = path.with_name(part_name(path))
        path.rename(gone)  # so that nobody finds some of it
        shutil.rmtree(gone, ignore_errors=True)
    else:
        path.unlink()


def _open(path: Path) -> int:
    """Open a file or folder to lock or sync it; network drives lock what can be written only."""
    mode = os.O_RDONLY if path.is_dir() else os.O_RDWR
    return os.open(path, mode | getattr(os, "O_NOFOLLOW", 0))


def _lock(opened: int, wait: bool) -> bool:
    """Return whether it is now locked by this process alone: held, as some can't be locked."""
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except (OSError, AttributeError):
        return False
    return True


def _keep_mode(target: Path, part: Path) -> None:
    """Let a file be read by those who could read the old one, and written by no new ones."""
    about = target.stat()
    ours = about.st_uid == _user()
    part.chmod(stat.S_IMODE(about.st_mode) & (0o7777 if ours else 0o755))


def _user() -> int:
    return os.geteuid() if hasattr(os, "geteuid") else 0


def write_named(path: str | Path | None, text: str) -> str:
    """Write text to a file as a whole, if one is named, and return it.

    What UTF-8 can't hold, as names of files may, is written as an escape.
    """
    if path is not None:
        write_bytes(Path(path), text.encode(errors="backslashreplace"))
    return text
