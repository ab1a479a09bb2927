"""Small file systems of a test's own, where disks fill up and folders are mount points."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest


def mounted(folder: Path, size: str, *command: object) -> subprocess.CompletedProcess[str]:
    """Run a shell's words where `folder` is a mount point of `size`, which nobody else sees."""
    folder.mkdir(exist_ok=True)
    inner = (
        f"mount -t tmpfs -o size={size} tmpfs {folder} || exit 77\n{' '.join(map(str, command))}"
    )
    outer = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", inner]
    try:
        ended = subprocess.run(outer, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("no unshare here")
    if ended.returncode == 77 or ended.stderr.startswith("unshare:"):
        pytest.skip("users may not mount here")
    return ended
