"""A headless Chromium, driven by its DevTools protocol over a pipe, and what it complains of."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
from pathlib import Path
from typing import Any

OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--hide-scrollbars", "--disable-background-networking", "--disable-component-update",
    "--disable-extensions", "--remote-debugging-pipe",
)  # fmt: skip
PATIENCE = 120.0  # seconds for an answer
QUIET = 0.5  # seconds without an event: nothing more is to come
KEYS = {"Tab": 9, "Enter": 13, "Space": 32}
TEXTS = {"Enter": "\r", "Space": " "}


def find_chromium() -> str:
    """Return the path of Chromium; where there is none, say how to get it."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        raise RuntimeError(
            "there is no Chromium to open reports in. Run scripts/chromium.sh, which installs it."
        )
    return found


class Browser:
    """One Chromium with one page open at a time.

    Attributes
    ----------
    complaints : what the console, the page's errors, its policy and its dialogs said.
    requests : every address that the page asked for, its own file and `data:` left out.
    """

    def __init__(self, profile: Path) -> None:
        program = find_chromium()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._buffer, self._number, self._session, self._address = b"", 0, "", ""
        self._target = ""
        there, self._out = (_high(fd) for fd in os.pipe())
        self._in, back = (_high(fd) for fd in os.pipe())
        actions: list[tuple[Any, ...]] = [
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_DUP2, there, 3),  # Chromium reads commands here
            (os.POSIX_SPAWN_DUP2, back, 4),  # and answers there
        ]
        command = [program, *OPTIONS, f"--user-data-dir={profile}", "about:blank"]
        self._pid = os.posix_spawn(program, command, os.environ, file_actions=actions, setpgroup=0)
        os.close(there)
        os.close(back)

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._out)
        os.close(self._in)
        os.killpg(self._pid, signal.SIGKILL)  # with its children, which are its own group
        os.waitpid(self._pid, 0)

    def open(self, path: Path, width: int = 1000, height: int = 800, **media: str) -> None:
        """Open a file anew; `media` are features such as prefers_color_scheme="dark"."""
        if self._target:
            self._session = ""
            self.send("Target.closeTarget", targetId=self._target)
        self.complaints, self.requests, self._address = [], [], path.resolve().as_uri()
        self._target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=self._target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        features = [{"name": k.replace("_", "-"), "value": v} for k, v in media.items()]
        self.send("Emulation.setEmulatedMedia", features=features)
        self.send("Page.navigate", url=self._address)
        while self.run("location.href + document.readyState") != f"{self._address}complete":
            self._listen(0.05)
        self.settle()

    def settle(self) -> None:
        """Wait until nothing more happens."""
        while self._listen(QUIET):
            pass

    def run(self, expression: str) -> Any:
        """Return what a JavaScript expression gives."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def click(self, selector: str) -> None:
        """Press and release the mouse on the middle of an element."""
        found = f"document.querySelector({json.dumps(selector)})"
        self.run(f"{found}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
        box = self.run(f"{found}.getBoundingClientRect().toJSON()")
        at = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at)

    def press(self, key: str) -> None:
        """Press and release Tab, Enter or Space."""
        code = {"key": " " if key == "Space" else key, "code": key}
        code |= {"windowsVirtualKeyCode": KEYS[key]}  # type: ignore[dict-item]
        text = {"text": TEXTS[key]} if key in TEXTS else {}
        self.send("Input.dispatchKeyEvent", type="keyDown", **code, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", **code)

    def type(self, text: str) -> None:
        """Put text in at the cursor, as typing does."""
        self.send("Input.insertText", text=text)

    def screenshot(self, selector: str = "", height: int = 0) -> bytes:
        """Return a PNG of what is seen, or of the page from an element on."""
        clip = {}
        if selector:
            found = f"document.querySelector({json.dumps(selector)})"
            box = self.run(f"{found}.getBoundingClientRect().toJSON()")
            top = box["y"] + self.run("scrollY")
            width = self.run("innerWidth")
            clip = {"x": 0, "y": top, "width": width, "height": height or box["height"], "scale": 1}
        shot = self.send(
            "Page.captureScreenshot", captureBeyondViewport=True, **({"clip": clip} if clip else {})
        )
        return base64.b64decode(shot["data"])

    def pdf(self) -> bytes:
        """Return the page as it prints on A4."""
        paper = {"paperWidth": 8.27, "paperHeight": 11.69}
        return base64.b64decode(self.send("Page.printToPDF", **paper)["data"])

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its answer; events that come before it are noted."""
        number = self._write(method, params)
        while True:
            answer = self._receive(PATIENCE)
            if answer is None:
                raise TimeoutError(f"Chromium did not answer {method} in {PATIENCE:.0f} s.")
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return dict(answer["result"])

    def _write(self, method: str, params: dict[str, Any]) -> int:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        rest = json.dumps(message).encode() + b"\0"
        while rest:
            rest = rest[os.write(self._out, rest) :]
        return self._number

    def _listen(self, seconds: float) -> bool:
        return self._receive(seconds) is not None

    def _receive(self, seconds: float) -> dict[str, Any] | None:
        """Return the next message, or None if none comes in time; note it if it is an event."""
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], seconds)
            if not ready:
                return None
            data = os.read(self._in, 1 << 20)
            if not data:
                raise RuntimeError("Chromium ended.")
            self._buffer += data
        first, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(first)
        if message.get("sessionId") == self._session:
            self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, event: str, params: dict[str, Any]) -> None:
        if event == "Runtime.consoleAPICalled":
            said = [str(a.get("value", a.get("description"))) for a in params["args"]]
            self.complaints.append(f"console.{params['type']}: {' '.join(said)}")
        elif event == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            what = details.get("exception", {}).get("description", details["text"])
            self.complaints.append(f"exception: {what}")
        elif event == "Log.entryAdded":
            self.complaints.append(f"log: {params['entry']['text']}")
        elif event == "Page.javascriptDialogOpening":
            self.complaints.append(f"{params['type']}: {params['message']}")
            self._write("Page.handleJavaScriptDialog", {"accept": True})
        elif event == "Network.requestWillBeSent":
            address = params["request"]["url"]
            if address != self._address and not address.startswith("data:"):
                self.requests.append(address)


def _high(fd: int) -> int:
    """Move a file descriptor above those that the child's pipes get."""
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(fd)
    return moved
