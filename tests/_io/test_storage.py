"""The file of arrays and text: what goes in comes out, and nothing else is let in."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import signal
import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import pandas as pd
import pytest
import safetensors.torch
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from otfair._io import storage
from otfair._io.storage import UnstorableError, read, write


@dataclasses.dataclass(frozen=True)
class Pair:
    left: Any
    right: Any = None


KNOWN = {"Pair": Pair}
CONTENT = {
    "numbers": [0, -(2**62), 0.1, 1e-310, -0.0, True, None],
    "not finite": (math.nan, math.inf, -math.inf),
    "text": 'é\n"$\ud800',
    "nested": {"": [], "a": {"b": ()}},
    "array": np.arange(6.0).reshape(2, 3)[:, ::2],
    "pair": Pair((1, "x"), Pair(np.arange(3))),
    "range": range(1, 9, 3),
    "index": pd.Index(["a", "b"]),
    "range index": pd.RangeIndex(3),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some.safetensors"


def there_and_back(content, path, known=KNOWN):
    write(path, content, known)
    return read(path, known)


def same(a, b):
    """Equal, of the same type, and to the bit."""
    if isinstance(a, np.generic):
        a = a.item()
    if isinstance(a, pd.Index):
        return isinstance(b, pd.Index) and a.equals(b)
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        if a.dtype == object:
            return a.shape == b.shape and all(map(same, a, b))
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and torch.equal(a, b)
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if dataclasses.is_dataclass(a):
        return same(vars(a), vars(b))
    if isinstance(a, float):
        return str(a) == str(b)
    return a == b


@pytest.mark.parametrize("key", CONTENT)
def test_what_goes_in_comes_out(path, key):
    assert same(CONTENT[key], there_and_back(CONTENT[key], path))


@pytest.mark.parametrize(
    "array",
    [
        np.array(["no", "yes"], dtype="<U7"),
        np.array([], dtype="<U1"),
        np.array(["no", None, 3, ("a", "b")], dtype=object),
        np.array([False, True]),
        np.array(3.5),
        np.zeros((0, 4)),
        np.array([1, 2], dtype=np.int8),
        np.array([1, 2], dtype=np.uint32),
        np.array([0.1, np.nan], dtype=np.float16),
    ],
    ids=lambda a: f"{a.dtype}{a.shape}",
)
def test_arrays_keep_type_and_shape(path, array):
    assert same(array, there_and_back(array, path))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.bool, torch.int64])
def test_tensors_keep_their_type(path, dtype):
    tensor = torch.tensor([[0.0, 1.0], [2.0, 3.0]]).to(dtype).T
    assert same(tensor, there_and_back(tensor, path))


def test_arrays_of_another_byte_order_become_this_machine_s(path):
    array = there_and_back(np.array([1.5, 2.5], dtype=">f8"), path)
    assert array.dtype == np.float64
    assert array.tolist() == [1.5, 2.5]


def test_text_is_not_stored_with_much_padding(path):
    array = there_and_back(np.array(["no", "yes"], dtype="<U1000"), path)
    assert array.tolist() == ["no", "yes"]
    assert array.dtype == "<U3"
    with pytest.raises(UnstorableError, match="can't be stored"):
        write(path, np.array(["a" * 1000] + [""] * 1000), KNOWN)


def test_tensors_that_share_memory_are_stored_twice(path):
    weight = torch.arange(4.0)
    back = there_and_back({"a": weight, "b": weight, "c": weight[1:]}, path)
    assert back["c"].tolist() == [1, 2, 3]
    back["a"][0] = 9.0
    assert back["b"][0] == 0.0


def test_places_of_the_same_name_do_not_meet(path):
    content = {"a": {"b": np.zeros(1)}, "a.b": np.ones(1), "": np.full(1, 2.0)}
    assert same(content, there_and_back(content, path))


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.builds(Pair, inner)
        | st.dictionaries(st.text().filter(lambda k: not k.startswith("$")), inner, max_size=4)
    ),
)


@settings(max_examples=30, deadline=None)
@given(content=plain)
def test_any_plain_content_comes_back(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("any") / "file"
    assert same(content, there_and_back(content, path))


class Shouts(Pair):
    """Not in the table, although its base is."""


@pytest.mark.parametrize(
    "value",
    [print, object(), Shouts(1), b"bytes", {1: 2}, {"$float": "1"}, np.array([b"a"]), {1, 2},
     pd.MultiIndex.from_tuples([("a", "b")]), np.random.RandomState(0), np.longdouble(1),
     np.zeros(2, dtype=complex), torch.zeros(2, dtype=torch.complex64), torch.eye(2).to_sparse()],
    ids=lambda v: type(v).__name__,
)  # fmt: skip
def test_what_is_more_than_data_is_refused_by_its_place(path, value):
    with pytest.raises(UnstorableError, match=r"`outer.inner.1` is "):
        write(path, {"outer": {"inner": [0, value]}}, KNOWN)
    assert not path.exists()


# Files that are not as they were written


def test_a_byte_that_changes_anywhere_is_noticed_or_harmless(path):
    content = {"weights": np.linspace(0, 1, 9), "alpha": 0.5, "notion": Pair("x"), "t": ("a",)}
    write(path, content, KNOWN)
    sound = path.read_bytes()
    refusals = []
    for offset in range(len(sound)):
        for flip in (0x01, 0xA0):
            damaged = bytearray(sound)
            damaged[offset] ^= flip
            path.write_bytes(damaged)
            try:
                assert same(content, read(path, KNOWN))
            except ValueError as error:
                refusals.append(str(error))
    assert len(refusals) > 1.9 * len(sound)
    assert all(str(path) in refusal for refusal in refusals)


def test_every_beginning_of_a_file_is_refused(path):
    write(path, {"weights": np.linspace(0, 1, 9)}, KNOWN)
    sound = path.read_bytes()
    for length in range(len(sound)):
        path.write_bytes(sound[:length])
        with pytest.raises(ValueError, match="damaged"):
            read(path, KNOWN)
    path.write_bytes(sound + b"\0")
    with pytest.raises(ValueError, match="damaged"):
        read(path, KNOWN)


def header(entries, body=b""):
    text = json.dumps(entries).encode()
    return len(text).to_bytes(8, "little") + text + body


def metadata(content="null", **changes):
    tensors: dict[str, torch.Tensor] = {}
    digest = storage._digest(content, tensors)
    return {"format": "otfair", "version": "1", "content": content, "sha256": digest} | changes


HUGE = {"dtype": "F64", "shape": [2**40, 2**40], "data_offsets": [0, 2**63]}
EMPTY = {"dtype": "F64", "shape": [0, 2**62, 2**62], "data_offsets": [0, 0]}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "damaged"),
        (b"\xff" * 8, "damaged"),
        (b"\xff" * 100, "damaged"),
        ((2**62).to_bytes(8, "little") + b"{}", "damaged"),
        (b"PK\x03\x04" + bytes(200), "damaged"),
        ((200_000).to_bytes(8, "little") + b"[" * 200_000, "header is no JSON"),
        (header([]), "header is no JSON"),
        (header({"__metadata__": 3}), "header is no JSON"),
        (header({}), "its format is None, not 'otfair'"),
        (header({"__metadata__": {"format": "pt"}}), "its format is 'pt'.*`save_model`"),
        (header({"__metadata__": metadata(version="2")}), "version 2 of the format.*Upgrade"),
        (header({"__metadata__": metadata(version="0")}), "version 0 of the format"),
        (header({"__metadata__": metadata(version="1" * 5000)}), "its version is"),
        (header({"__metadata__": metadata(version=None)}), "its version is None"),
        (header({"__metadata__": metadata(sha256="")}), "checksum"),
        (header({"__metadata__": metadata(note="mine")}), r"metadata \['note'\], which this"),
        (header({"__metadata__": {"format": "otfair", "version": "1"}}), "checksum"),
        (header({"__metadata__": metadata(), "a": HUGE}), "damaged"),
        (header({"__metadata__": metadata(), "a": EMPTY}), "damaged"),
        (header({"__metadata__": metadata(), "a": EMPTY | {"dtype": "F7"}}), "damaged"),
        (header({"__metadata__": metadata("[" * 200_000)}), "does not hold what otfair writes"),
        (header({"__metadata__": metadata("nonsense")}), "does not hold what otfair writes"),
        (header({"__metadata__": metadata('{"$os.system": "x"}')}), "'os.system' that this"),
        (header({"__metadata__": metadata('{"$Pair": {"middle": 1}}')}), "middle"),
        (header({"__metadata__": metadata('{"$Pair": 1}')}), "does not hold"),
        (header({"__metadata__": metadata('{"$tuple": [], "$range": []}')}), "does not hold"),
        (header({"__metadata__": metadata('{"$array": "absent"}')}), "absent"),
        (header({"__metadata__": metadata('{"$text": [1000000000, ["a"]]}')}), "characters each"),
        (header({"__metadata__": metadata('{"$text": [9, ["a", 1]]}')}), "does not hold"),
        (header({"__metadata__": metadata('{"$text": [9, {"$range": [0, 1]}]}')}), "9 characters"),
        (header({"__metadata__": metadata('{"$float": "one"}')}), "does not hold"),
        # A long range costs nothing, until it becomes a tuple.
        (header({"__metadata__": metadata('{"$tuple": {"$range": [0, 1000000000000]}}')}), "tuple"),
    ],
)  # fmt: skip
def test_strange_files_are_refused(path, data, message):
    path.write_bytes(data)
    with pytest.raises(ValueError, match=message) as caught:
        read(path, KNOWN)
    assert str(path) in str(caught.value)


def test_a_foreign_checkpoint_is_refused_before_it_is_read(path, monkeypatch):
    path.write_bytes(safetensors.torch.save({"weight": torch.zeros(10)}))
    monkeypatch.setattr(storage.safetensors.torch, "load", None)
    with pytest.raises(ValueError, match="not a model of otfair"):
        read(path, KNOWN)


def test_text_that_could_not_be_read_again_is_not_written(path, monkeypatch):
    monkeypatch.setattr(storage, "LARGEST_HEADER", 1000)
    with pytest.raises(ValueError, match="more than the 1000"):
        write(path, ["history"] * 1000, KNOWN)
    assert not path.exists()


# Writing


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OSError(28, "disk full")])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(path, monkeypatch, step, failure):
    def fail(*_):
        raise failure

    write(path, "old", KNOWN)
    monkeypatch.setattr(*((os, "fsync") if step == "fsync" else (type(path), "replace")), fail)
    with pytest.raises(type(failure)):
        write(path, "new", KNOWN)
    assert read(path, KNOWN) == "old"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.slow
def test_a_process_killed_in_mid_write_leaves_the_old_file(path):
    write(path, "old", KNOWN)
    script = """
        import os, signal, sys
        from otfair._io import storage
        os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
        storage.write(sys.argv[1], "new", {})
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script), str(path)], timeout=120)
    assert done.returncode == -signal.SIGKILL
    assert read(path, KNOWN) == "old"


def test_the_file_has_the_permissions_of_any_other(path):
    write(path, "new", KNOWN)
    (other := path.with_name("other")).touch()
    assert path.stat().st_mode == other.stat().st_mode


def test_other_programs_can_read_the_numbers(path):
    write(path, {"weights": np.linspace(0, 1, 9)}, KNOWN)
    assert safetensors.torch.load_file(path)["weights"].tolist() == np.linspace(0, 1, 9).tolist()


# What a file may make the program allocate


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"$range": [0, 1000001]}', "a range of more than 1000000 numbers"),
        ('{"$range": [0, 1000000000000000000000000000000]}', "a range of more than"),
        ("[" * 102 + "]" * 102, "in one another more than 100 times"),
        ('{"x": ' * 101 + "1" + "}" * 101, "in one another more than 100 times"),
        ("[" + "[]," * 1_000_000 + "[]]", "1000002 lists and objects, and 300000 are the most"),
        (json.dumps(dict.fromkeys(map(str, range(900_001)))), "900001 names and texts, and 900000"),
        (json.dumps(["ab"] * 900_001), "900001 names and texts, and 900000 are the most"),
        ('["' + "\\\"" * 600_000 + "[]," * 500_000 + '", "\\"', "does not hold"),  # no end
        ("[NaN]", "it holds NaN, which is no number"),
        ("[-Infinity]", "it holds -Infinity, which is no number"),
        ('{"$float": "1e5"}', "a 'float' that this version can't read"),
        ('{"$Pair": {"left": 1}, "x": 2}', "does not hold"),
    ],
)  # fmt: skip
def test_a_small_file_makes_nothing_large(path, content, message):
    path.write_bytes(header({"__metadata__": metadata(content)}))
    with pytest.raises(ValueError, match=message):
        read(path, KNOWN)


def test_an_array_is_used_once(path):
    # Or else a file of some megabytes could ask for copies without end.
    tensors = {"a": torch.zeros(10)}
    for times, sound in ((1, True), (2, False)):
        text = json.dumps([{"$array": "a"}] * times)
        made = metadata(text) | {"sha256": storage._digest(text, tensors)}
        path.write_bytes(safetensors.torch.save(tensors, made))
        if sound:
            assert len(read(path, KNOWN)) == times
        else:
            with pytest.raises(ValueError, match="it lacks 'a', or uses it twice"):
                read(path, KNOWN)


def test_brackets_in_text_are_not_counted(path):
    write(path, ["[{" * 600_000], KNOWN)
    assert read(path, KNOWN) == ["[{" * 600_000]


def test_quotes_in_text_are_not_counted(path):
    write(path, ['"' * 2_000_000], KNOWN)
    assert read(path, KNOWN) == ['"' * 2_000_000]


def test_a_long_range_is_not_written(path):
    with pytest.raises(storage.UnstorableError, match="range"):
        write(path, range(10**7), KNOWN)


def test_more_lists_than_can_be_read_are_not_written(path):
    with pytest.raises(ValueError, match="could not be read again: it holds 300002 lists"):
        write(path, [[]] * 300_001, KNOWN)
    with pytest.raises(ValueError, match="could not be read again: it holds 900001 names"):
        write(path, ["ab"] * 900_001, KNOWN)
    assert not path.exists()
