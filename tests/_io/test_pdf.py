"""Pages as PDF: whole, without a network, and an error that helps where none can be made."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from otfair._io.pdf import BROWSERS, find_browser, to_pdf


def browser(folder: Path, script: str) -> None:
    """Put a program into a folder that is called like a browser."""
    program = folder / BROWSERS[-1]
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


@pytest.mark.slow
def test_a_page_becomes_a_pdf():
    data = to_pdf("<!doctype html><title>Räte</title><p style='break-after: page'>1<p>2")
    assert data.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", data)) == 2


def test_without_a_browser_it_is_said_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ValueError, match=r"Install it, or write a page that ends in \.html"):
        find_browser()


def test_a_browser_that_fails_or_hangs_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin")
    monkeypatch.setattr("otfair._io.pdf.BROWSERS", BROWSERS[-1:])
    browser(tmp_path, "echo no display >&2; exit 1")
    with pytest.raises(ValueError, match=r"msedge wrote no PDF \(no display\)\. Write a page"):
        to_pdf("<p>1")
    browser(tmp_path, "sleep 60 & wait")
    with pytest.raises(ValueError, match=r"wrote no PDF \(stopped after 0\.2 s\)"):
        to_pdf("<p>1", limit=0.2)


def test_it_asks_for_no_address_and_leaves_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin")
    monkeypatch.setattr("otfair._io.pdf.BROWSERS", BROWSERS[-1:])
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "tmp").mkdir()
    browser(tmp_path, f'printf "%s\\n" "$@" > {tmp_path}/given; exit 1')
    with pytest.raises(ValueError, match="wrote no PDF"):
        to_pdf("<p>1")
    given = (tmp_path / "given").read_text().splitlines()
    assert "--host-resolver-rules=MAP * ~NOTFOUND" in given
    profile = next(g for g in given if g.startswith("--user-data-dir="))
    assert str(tmp_path / "tmp") in profile  # not the user's own
    assert list((tmp_path / "tmp").iterdir()) == []
