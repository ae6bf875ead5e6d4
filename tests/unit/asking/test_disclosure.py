"""The registry entry has the registry's fields; the sheet answers every factor of the guideline."""

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest
import yaml

from tightrope.asking import ask_all, plan
from tightrope.asking.disclosure import (
    Disclosure,
    need_publisher,
    registry_entry,
    sp_800_226,
    yaml_text,
)
from tightrope.cli import main
from tightrope.errors import InputError
from tightrope.publish.facts import Publisher, facts_from
from tightrope.report.page import Publication, published_report

#: The fields of all three tiers in the registry's schema, with the values that it allows.
FIELDS = json.loads(Path(__file__).with_name("registry_fields.json").read_text())
KINDS = {
    "text!": lambda value: isinstance(value, str) and bool(value.strip()),
    "texts!": lambda value: value and all(map(KINDS["text!"], value)),
    "day!": lambda value: bool(re.fullmatch(r"\d{4}-\d\d-\d\d", value)),
    "number!": lambda value: type(value) in (int, float) and value > 0,
}
OFFICE = Publisher(("Office",), "Planning", "Northland", False, "Government")


def faults(value, fields, place="entry"):
    """Where a value does not have the fields, and only those."""
    if isinstance(fields, dict):
        needed = {name for name in fields if not name.endswith("?")}
        known = {name.removesuffix("?"): inside for name, inside in fields.items()}
        found = [f"{place}.{name} is missing" for name in needed - value.keys()]
        found += [f"{place}.{name} is unknown" for name in value.keys() - known.keys()]
        for name in value.keys() & known.keys():
            found += faults(value[name], known[name], f"{place}.{name}")
        return found
    fits = value in fields if isinstance(fields, list) else KINDS[fields](value)
    return [] if fits else [f"{place} is {value!r}"]


@pytest.fixture
def published(tmp_path, monkeypatch):
    """Publishes counts of a small table; returns the disclosure."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "staff.csv").write_text("dept\n" + "it\nhr\nit\n" * 4)

    def publish(relation="change-one", delta="0", column="dept:it,hr:complete"):
        facts = {
            "population": 12,
            "columns": {"dept": column},
            "neighbours": relation,
            "budget": 5,
            "data": "staff.csv",
            "ledger": f"{relation}{len(delta)}.db",
        }
        if delta != "0":
            staff = {
                "population": 12, "neighbours": relation, "budget": "5", "delta": "1e-3",
                "source": "staff.csv", "columns": {"dept": {"type": "text"}},
            }  # fmt: skip
            facts = {"facts": facts_from({"tables": {"staff": staff}})}
            facts["ledger"] = "delta.db"
        sql = "select dept, count(*) as n from staff group by dept"
        made = plan([sql], epsilon="1/3", delta=delta, **facts)
        return Disclosure(made, ask_all(made), "Staff, by département")

    return publish


@pytest.mark.parametrize("relation", ["change-one", "add-remove", "either"])
def test_entry_has_the_fields_of_all_tiers(published, relation):
    entry = registry_entry(published(relation), OFFICE)
    assert faults(entry, FIELDS) == []
    assert entry["url_slug"] == "staff_by_d_partement"
    assert entry["deployment"]["privacy_loss"]["privacy_parameters"] == {
        "epsilon": 1 / 3
    }
    assert entry["deployment"]["dp_variant"]["variant_name"] == "Pure DP"
    is_public = (
        "number of people"
        in entry["deployment"]["dp_variant"]["unprotected_quantities"]
    )
    assert is_public == (relation == "change-one")
    # What is written is read back as it was.
    assert yaml.safe_load(yaml_text(entry)) == entry


def test_entry_with_a_delta_is_approximate(published):
    told = published("add-remove", "1e-3")
    entry = registry_entry(told, OFFICE)
    assert faults(entry, FIELDS) == []
    assert told.delta == Fraction(1, 1000)
    assert entry["deployment"]["dp_variant"]["variant_name"] == "Approximate DP"
    assert entry["deployment"]["privacy_loss"]["privacy_parameters"]["delta"] == 0.001
    assert "except with probability δ" in sp_800_226(told)["Privacy parameter"]


def test_entry_that_is_not_the_registrys_is_noticed(published):
    entry = registry_entry(published(), OFFICE)
    entry["surprise"] = "x"
    entry["tier"] = 0
    del entry["deployment"]["basic"]["name"]
    entry["deployment"]["basic"]["publication_date"] = "1/1/2026"
    assert sorted(faults(entry, FIELDS)) == [
        "entry.deployment.basic.name is missing",
        "entry.deployment.basic.publication_date is '1/1/2026'",
        "entry.surprise is unknown",
        "entry.tier is 0",
    ]


def test_sheet_answers_every_factor_and_stands_in_the_report(published):
    sheet = sp_800_226(published())
    assert all(answer.endswith(".") for answer in sheet.values())
    assert sheet["Privacy parameter"].startswith("ε = 1/3, pure differential privacy")
    assert "1.4 times" in sheet["Privacy parameter"]  # e^(1/3) = 1.3956…, rounded up
    page = published_report(Publication("Staff", [], {}, {}, sheet=sheet))
    assert "NIST SP 800-226" in page
    assert page.count("<th>") == len(sheet)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            {"use": "x", "region": "y", "dynamic": False},
            "publisher.curators is missing",
        ),
        ({"sector": "Farming"}, "publisher.sector must be one of Technology"),
        ({"curators": []}, "publisher.curators must be a text"),
        ({"name": "x"}, "publisher.name is not a key here"),
    ],
)
def test_wrong_publishers_are_refused(wrong, message):
    with pytest.raises(InputError, match=re.escape(message)):
        facts_from({"tables": {"t": {}}, "publisher": wrong})
    with pytest.raises(InputError, match=r"add \[publisher\]"):
        need_publisher(None)


def test_ask_writes_entry_and_report_or_pays_nothing(published, capsys):
    facts = Path("tightrope.toml")
    table = '[tables.staff]\nsource = "staff.csv"\npopulation = 12\nbudget = "2"\n'
    facts.write_text(table)
    words = ["ask", "select count(*) as n from staff", "--epsilon", "1"]
    assert main([*words, "--registry", "entry.yaml"]) == 2
    assert "--registry needs to know who publishes" in capsys.readouterr().err
    assert not Path("ledger.db").exists()
    who = '[publisher]\ncurators = "Office"\nuse = "Planning"\nregion = "N"\ndynamic = true\n'
    facts.write_text(table + who)
    assert main([*words, "--registry", "entry.yaml", "--report", "r.html"]) == 0
    entry = yaml.safe_load(Path("entry.yaml").read_text())
    assert faults(entry, FIELDS) == []
    assert entry["deployment"]["deployment_model"]["data_source_type"] == "Dynamic"
    assert "NIST SP 800-226" in Path("r.html").read_text()
