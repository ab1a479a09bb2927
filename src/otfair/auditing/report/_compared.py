"""The page and the sentences of a comparison of models."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING

from markupsafe import Markup

from otfair.auditing.report._page import _environment

if TYPE_CHECKING:
    from otfair.auditing._compared import Compared, Comparison, Move

FAVOURABLE = (  # by what a positive decision is for people
    "A positive decision is unfavourable here: who gets one loses, and who is spared gains.",
    "A positive decision is favourable here: who gets one gains.",
)


def compared_page(found: Comparison) -> str:
    """Return the page of a comparison."""
    environment = _environment()
    script = environment.loader.get_source(environment, "audit.js")[0].strip()  # type: ignore[union-attr]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return environment.get_template("compare.html").render(
        found=found,
        sentences=comparison_sentences(found),
        what=what,
        of=lambda f: f.group or f.attribute or "all people",
        script=Markup(script),  # ours, not the user's
        script_hash=digest,
    )


def comparison_sentences(found: Comparison) -> list[str]:
    """Say how models differ from the first, and who gains and who loses."""
    said = list(found.notes)
    if found.moves and found.favourable is not None:
        said.append(FAVOURABLE[found.favourable])
    for k, name in enumerate(found.models[1:]):
        wide = [f for f in found.figures if not f.group]
        differ = [f for f in wide if f.beyond[k]]
        said.append(
            f"{name} differs from {found.models[0]} beyond chance in {len(differ)} of {len(wide)} "
            "figures of all people and attributes."
        )
        said += [_difference(f, k) for f in differ]
        said += [_moved(move, found) for move in found.moves if move.model == name]
    return said


def what(figure: Compared) -> str:
    """Return what a figure is called."""
    return figure.figure.replace("_", " ").replace("auc", "AUC")


def _difference(f: Compared, k: int) -> str:
    before, after, d = f.values[0].value, f.values[k + 1].value, f.differences[k]
    of = f"{f.attribute}, " if f.attribute else ""
    ends = "" if d.low != d.low else f", {d.low:+.3f} to {d.high:+.3f}"
    return f"{of}{what(f)}: {after:.3f} instead of {before:.3f} ({d.value:+.3f}{ends})."


def _moved(move: Move, found: Comparison) -> str:
    words = {1: ("gain", "lose"), 0: ("lose", "gain")}
    up, down = words.get(found.favourable, ("become positive", "become negative"))  # type: ignore[arg-type]
    chance = "more than chance explains" if move.beyond else "which chance may explain"
    who = move.group or "all people"
    if not move.gained + move.lost:
        return f"Of {move.people:,} ({who}) nobody's decision changes."
    what_of = f" by {move.model}" if len(found.models) > 2 else ""
    net = 1000 * (move.gained - move.lost) / move.people
    return (
        f"Of {move.people:,} ({who}), {move.gained:,} {up} and {move.lost:,} {down}{what_of}: "
        f"{abs(net):.0f} {'more' if net >= 0 else 'fewer'} positive decisions per 1000, {chance}."
    )
