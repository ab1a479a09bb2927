"""Download over HTTP with retries; store on disk in one step.

The largest file is 19 MB, so a transfer is held in memory: only content that was verified ever
touches the disk.
"""

from __future__ import annotations

import io
import logging
import time
import zipfile
import zlib
from pathlib import Path, PurePosixPath

import requests

from otfair._io.files import write_bytes
from otfair._io.progress import track

logger = logging.getLogger(__name__)

ATTEMPTS = 4
TIMEOUT = (10.0, 30.0)  # seconds to connect, seconds between two chunks
CHUNK = 1 << 16
ARCHIVE_SLACK = 1 << 16  # bytes an archive may be larger than the text that it holds
BOUNDED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others unpack more than is asked of them


class DatasetError(OSError):
    """A dataset's raw file is missing, damaged or out of reach; the message says what to do."""


class _Retriable(Exception):
    """A failure that may be gone on the next attempt."""


def transfer(url: str, *, name: str, size: int, progress: bool, backoff: float) -> bytes:
    """Content of the file `name` behind `url`, at most ``size + 1`` bytes of it.

    `size` is what the file should have; more is never held, be it sent or unpacked.
    """
    archive = url.endswith(".zip")
    limit = size + ARCHIVE_SLACK if archive else size
    for attempt in range(1, ATTEMPTS + 1):
        try:
            body = _get(url, limit=limit, label=name, progress=progress)
            return _member(body, name, size) if archive else body
        except _Retriable as failure:
            if attempt == ATTEMPTS:
                raise DatasetError(f"{failure} ({ATTEMPTS} attempts)") from failure
            wait = backoff * 2 ** (attempt - 1)
            logger.warning("%s: %s; attempt %d follows in %g s", url, failure, attempt + 1, wait)
            time.sleep(wait)
    raise AssertionError("unreachable: the last attempt returns or raises")


def _get(url: str, *, limit: int, label: str, progress: bool) -> bytes:
    body = io.BytesIO()
    # Ask for the bytes as they are: the length must be comparable with Content-Length.
    headers = {"Accept-Encoding": "identity", "User-Agent": "otfair"}
    try:
        with requests.get(url, stream=True, timeout=TIMEOUT, headers=headers) as response:
            _check_status(response)
            length = response.headers.get("Content-Length", "")
            expected = int(length) if length.isdecimal() else None
            with track(None, label, expected, verbose=progress, unit="B", unit_scale=True) as bar:
                for chunk in response.iter_content(CHUNK):
                    body.write(chunk)
                    bar.update(len(chunk))
                    if body.tell() > limit:
                        raise DatasetError(f"the server sends more than {limit} bytes")
    except (requests.ConnectionError, requests.Timeout) as error:
        raise _Retriable(f"no connection, or it was cut off ({_reason(error)})") from error
    except requests.exceptions.ChunkedEncodingError as error:
        raise _Retriable(f"the download was cut off ({_reason(error)})") from error
    except requests.RequestException as error:
        raise DatasetError(f"the request failed ({_reason(error)})") from error
    if expected is not None and body.tell() < expected:  # urllib3 < 2 does not notice
        raise _Retriable(f"the download was cut off after {body.tell()} of {expected} bytes")
    return body.getvalue()


def _check_status(response: requests.Response) -> None:
    status = f"the server answered {response.status_code} {response.reason}"
    # The server's own trouble, or "later, please", may pass; "not found" will not.
    if response.status_code >= 500 or response.status_code in (408, 429):
        raise _Retriable(status)
    if response.status_code != 200:
        raise DatasetError(status)


def _reason(error: Exception) -> str:
    """Innermost message of a chain of wrapped network errors."""
    inner: BaseException = error
    while inner.args and isinstance(inner.args[0], BaseException):
        inner = inner.args[0]
    return str(getattr(inner, "reason", None) or inner)


def _member(body: bytes, name: str, size: int) -> bytes:
    """Content of the one archive member called `name`, in whatever folder of the archive.

    The member is read, not extracted: no path from the archive is ever used.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            members = [m for m in archive.infolist() if PurePosixPath(m.filename).name == name]
            if len(members) == 1 and members[0].compress_type in BOUNDED:
                with archive.open(members[0]) as content:
                    return content.read(size + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError) as error:
        raise DatasetError(f"the answer is not a sound zip archive ({error})") from error
    if len(members) != 1:
        raise DatasetError(f"the archive has {len(members)} files called {name}, not one")
    raise DatasetError(f"the archive's {name} is neither stored nor deflated")


def store(data: bytes, target: Path) -> Path:
    """Write a file so that others see all of it or nothing, and leave nothing else behind."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(target, data)
    except OSError as error:
        raise DatasetError(
            f"`{target.name}` was downloaded but can't be written to {target.parent} ({error}). "
            "Pass a `data_home` that is a writable folder with enough space."
        ) from error
    return target
