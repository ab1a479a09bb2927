"""A headless Chromium, one page at a time, and what that page complains of or asks for."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from playwright.sync_api import Dialog, Page, Request, sync_playwright

QUIET = 500  # milliseconds


def find_chromium() -> str:
    """Return the path of Chromium; where there is none, say how to get it."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    raise RuntimeError(
        "there is no Chromium to open reports in. Run scripts/chromium.sh, which installs it."
    )


class Browser:
    """One Chromium with one page open at a time.

    Attributes
    ----------
    page : Page
        Playwright's page, to click and type in.
    complaints : list of str
        What the console, the page's errors, its policy and its dialogs said.
    requests : list of str
        Every address that the page asked for, its own file and `data:` left out.
    """

    page: Page

    def __enter__(self) -> Browser:
        program = find_chromium()
        self._playwright = sync_playwright().start()
        self._chromium = self._playwright.chromium.launch(
            executable_path=program, args=["--disable-gpu", "--disable-quic", "--disable-sync"]
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._chromium.close()
        self._playwright.stop()

    def open(self, path: Path, width: int = 1000, height: int = 800, **options: Any) -> None:
        """Open a file anew; `options` are those of a context, such as color_scheme="dark"."""
        for old in self._chromium.contexts:
            old.close()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        context = self._chromium.new_context(
            viewport={"width": width, "height": height}, is_mobile=width < 600, **options
        )
        self.page = context.new_page()
        address = path.resolve().as_uri()

        def answer(dialog: Dialog) -> None:
            self.complaints.append(f"{dialog.type}: {dialog.message}")
            dialog.accept()

        def note(request: Request) -> None:
            if request.url != address and not request.url.startswith("data:"):
                self.requests.append(request.url)

        complain = self.complaints.append
        self.page.on("console", lambda said: complain(f"console.{said.type}: {said.text}"))
        self.page.on("pageerror", lambda error: complain(f"exception: {error.stack}"))
        self.page.on("dialog", answer)
        self.page.on("request", note)
        self.page.goto(address)
        self.settle()

    def settle(self) -> None:
        """Give what a page still does the time to be noticed."""
        self.page.wait_for_timeout(QUIET)

    def run(self, expression: str) -> Any:
        """Return what a JavaScript expression gives."""
        return self.page.evaluate(expression)
