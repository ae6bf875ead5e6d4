"""Receipts: signed, bound to their entry, and refused when anything is changed."""

import os
import stat

import pytest
from hypothesis import given, settings, strategies as st

from tightrope.errors import CheckFailed, InputError
from tightrope.publish import verify_receipt
from tightrope.publish.entries import Entry
from tightrope.publish.receipts import (
    SigningKey,
    anchors_of_receipts,
    apply_remap,
    key_path,
    read_receipt,
    receipt_of,
    write_receipt,
)

BODY = {
    "kind": "answer",
    "key": "k",
    "answer": [3, "north"],
    "epsilon": "ln(2)",
    "table": "people",
}


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    return SigningKey(tmp_path_factory.mktemp("keys") / "ledger.db.key")


@pytest.fixture(scope="module")
def receipt(key):
    return receipt_of(Entry.after(None, BODY, "2030-01-01T12:00:00.000Z"), "a1b2", key)


def test_a_receipt_is_genuine(receipt, key, tmp_path):
    check = verify_receipt(receipt)
    assert check.genuine
    assert check.public_key == key.public
    assert verify_receipt(receipt, key.public).genuine
    write_receipt(receipt, tmp_path / "r.json")
    assert read_receipt(tmp_path / "r.json") == receipt
    assert verify_receipt(tmp_path / "r.json").genuine


def test_the_key_is_its_owners_alone(key):
    assert stat.S_IMODE(os.stat(key.path).st_mode) == 0o600
    assert [path.name for path in key.path.parent.iterdir()] == ["ledger.db.key"]


def test_the_key_stays_the_same(key, receipt):
    assert (
        receipt_of(Entry.after(None, BODY, "2030-01-01T12:00:00.000Z"), "a1b2", key)[
            "public_key"
        ]
        == receipt["public_key"]
    )
    assert SigningKey(key.path).public == key.public


@settings(max_examples=60)
@given(data=st.data())
def test_any_change_is_noticed(receipt, data):
    name = data.draw(st.sampled_from(sorted(receipt)))
    value = data.draw(
        st.one_of(st.integers(), st.text(max_size=5), st.none()).filter(
            lambda new: new != receipt[name]
        )
    )
    assert not verify_receipt({**receipt, name: value}).genuine
    assert not verify_receipt({k: v for k, v in receipt.items() if k != name}).genuine
    assert not verify_receipt({**receipt, "more": value}).genuine


def test_a_receipt_signed_anew_by_somebody_else_is_noticed(receipt, key, tmp_path):
    forger = SigningKey(tmp_path / "forger.key")
    content = {
        name: value
        for name, value in receipt.items()
        if name not in ("format", "version", "public_key", "signature")
    }
    # The content is that of the entry, the signature is sound, the key is another one.
    forged = forger.sign(content)
    assert verify_receipt(forged).genuine
    assert "another key" in verify_receipt(forged, key.public).reasons[0]
    # Another answer does not fit the hash of the entry, whoever signs it.
    assert (
        "not that of the entry"
        in verify_receipt(forger.sign({**content, "answer": 4})).reasons[0]
    )


def test_a_receipt_of_another_ledger_is_no_anchor(receipt, tmp_path):
    path = tmp_path / "r.json"
    write_receipt(receipt, path)
    place = (receipt["position"], receipt["hash"])
    assert anchors_of_receipts([path], receipt["ledger"]) == [place]
    with pytest.raises(CheckFailed, match="another ledger, a1b2"):
        anchors_of_receipts([path], "c3d4")


def test_files_that_are_no_receipts(tmp_path):
    for text in ("", "[]", "3", "{", "[" * 100_000):
        path = tmp_path / "r.json"
        path.write_text(text)
        with pytest.raises(InputError):
            read_receipt(path)
    assert not verify_receipt({}).genuine


def test_files_that_are_no_keys(tmp_path):
    path = tmp_path / "bad.key"
    for text in ("", "secret", "AAAA"):
        path.write_text(text)
        with pytest.raises(InputError, match="not a signing key"):
            SigningKey(path)
    with pytest.raises(InputError, match="cannot be made"):
        SigningKey(tmp_path / "bad.key" / "inside.key")


def test_where_keys_are(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert key_path(None, "a1").relative_to(tmp_path).as_posix() == "tightrope/a1.key"
    monkeypatch.setenv("TIGHTROPE_KEY", str(tmp_path / "mine"))
    assert key_path(None, "a1") == tmp_path / "mine"


# -- at the reader's side -----------------------------------------------------------------


def test_remaps_need_only_the_receipt(receipt, tmp_path):
    assert apply_remap(receipt, {(3, "north"): "guess"}) == "guess"
    write_receipt(receipt, tmp_path / "r.json")
    assert apply_remap(tmp_path / "r.json", {(3, "north"): "guess"}) == "guess"
    with pytest.raises(CheckFailed, match="not genuine"):
        apply_remap({**receipt, "answer": 5}, {5: 6})
    with pytest.raises(InputError, match="no guess"):
        apply_remap(receipt, {1: 2})
