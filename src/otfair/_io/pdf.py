"""Pages as PDF, printed by a Chromium that is on the machine."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome", "msedge")
LIMIT = 120.0  # seconds
QUIET = (  # nothing is fetched, kept or asked
    "--headless", "--disable-gpu", "--disable-extensions", "--disable-sync", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-crash-reporter",
    "--host-resolver-rules=MAP * ~NOTFOUND", "--no-pdf-header-footer",
)  # fmt: skip


def find_browser() -> str:
    """Return the path of a browser that prints; where there is none, say what to do."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise ValueError(
            f"a PDF is printed by Chromium, and there is none on the PATH ({', '.join(BROWSERS)}). "
            "Install it, or write a page that ends in .html and print it from your browser."
        )
    return found


def to_pdf(page: str, limit: float = LIMIT) -> bytes:
    """Return a page that needs nothing else as PDF; `limit` are the seconds that it may take."""
    program = find_browser()
    with TemporaryDirectory(prefix="otfair-", ignore_cleanup_errors=True) as folder:
        place = Path(folder)
        source, target = place / "page.html", place / "page.pdf"
        source.write_text(page, encoding="utf-8")
        # Chromium does not run in its sandbox as root, in containers for one. The page is ours, and
        # what it holds of others is escaped.
        root = ["--no-sandbox"] if getattr(os, "geteuid", lambda: 1)() == 0 else []
        own = [f"--user-data-dir={place / 'profile'}", f"--print-to-pdf={target}"]
        said = _run([program, *QUIET, *root, *own, source.as_uri()], limit)
        data = target.read_bytes() if target.is_file() else b""
    if not data.startswith(b"%PDF"):
        last = said.strip().splitlines()[-1:]
        raise ValueError(
            f"{program} wrote no PDF{''.join(f' ({line})' for line in last)}. Write a page that "
            "ends in .html, and print it from a browser."
        )
    return data


def _run(command: list[str], limit: float) -> str:
    """Run a program to its end, or stop it and all that it started; return what it complained."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        return process.communicate(timeout=limit)[1]
    except subprocess.TimeoutExpired:
        return f"stopped after {limit:g} s"
    finally:
        if process.poll() is None:
            _kill(process)
            process.communicate()


def _kill(process: subprocess.Popen[str]) -> None:
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
