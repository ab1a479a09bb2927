"""Validate the docstrings of the public names with numpydoc; print what is wrong with which.

The checks are those of `[tool.numpydoc_validation]` in pyproject.toml. numpydoc's own hook reads
files, in which it can't tell a public name from a helper: this walks what `otfair` exports.
"""

from __future__ import annotations

import inspect
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from operator import attrgetter
from pathlib import Path

from numpydoc.validate import validate

import otfair

SETTINGS = Path(__file__).parents[1] / "pyproject.toml"
MADE = r"(?s)\A(?!.*Parameters\n-{3,}).*Attributes\n-{3,}"


def public_names() -> Iterator[str]:
    """Yield every public name, and the public methods that otfair gives a class."""
    for name in otfair.__all__:
        thing = getattr(otfair, name)
        if not callable(thing) or type(thing).__module__.startswith("otfair."):
            continue  # an object that is made, such as a scorer: its class is documented
        if not (inspect.isclass(thing) and issubclass(thing, Enum)):
            yield f"otfair.{name}"
        ours = [k for k in getattr(thing, "__mro__", ()) if k.__module__.startswith("otfair.")]
        for method, member in {m: f for k in ours[::-1] for m, f in vars(k).items()}.items():
            function = getattr(member, "fget", getattr(member, "__func__", member))
            if method.startswith("_") or not inspect.isfunction(function):
                continue
            if function.__doc__ or not inspect.getdoc(getattr(thing, method)):  # else it inherits
                yield f"otfair.{name}.{method}"


def documents_fields(thing: object) -> bool:
    """Whether each field of a dataclass has a comment that Sphinx shows: `#:`, there or above."""
    if not (inspect.isclass(thing) and is_dataclass(thing)):
        return False
    source = inspect.getsource(thing)
    shown = r"(?m)^    {0}: .*#: |^    #: .*\n    {0}: "
    return all(re.search(shown.format(field.name), source) for field in fields(thing))


def main() -> int:
    """Print each fault; return 1 if there is one."""
    checks = tomllib.loads(SETTINGS.read_text("utf-8"))["tool"]["numpydoc_validation"]["checks"]
    faults = 0
    for name in public_names():
        found = validate(name)
        # What the library makes has attributes, and no parameters that anyone passes.
        thing = attrgetter(name.partition(".")[2])(otfair)
        is_made = re.search(MADE, found["docstring"]) or documents_fields(thing)
        made = {"PR01"} if is_made else set()
        for code, text in found["errors"]:
            if code in {*checks} - made:
                faults += 1
                print(f"{name}: {code} {text}")
    return faults > 0


if __name__ == "__main__":
    sys.exit(main())
