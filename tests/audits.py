"""What two audits of the same people have in common: all figures, to 1e-8."""

import json

TOLERANCE = 1e-8
OF_THE_RUN = ("made", "seconds", "versions", "checksum", "source")


def assert_same(here, there):
    """Compare everything that an audit records."""
    one, other = (dict(_flat(_record(audit))) for audit in (here, there))
    unlike = {
        name: (one.get(name), other.get(name))
        for name in one.keys() | other.keys()
        if not _close(one.get(name), other.get(name))
    }
    assert not unlike, dict(sorted(unlike.items())[:5])
    assert len(one) > 300


def _record(audit):
    found = json.loads(audit.to_json())
    for name in OF_THE_RUN:
        found["record"].pop(name)
    return found


def _flat(value, name=""):
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _flat(one, f"{name}/{key}")
    elif isinstance(value, list):
        yield f"{name}#", len(value)
        for k, one in enumerate(value):
            yield from _flat(one, f"{name}/{k}")
    else:
        yield name, value


def _close(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= TOLERANCE * max(1.0, abs(a))
    return a == b
