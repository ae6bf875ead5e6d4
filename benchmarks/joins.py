"""Events beside their people in DuckDB: what the bound on the rows of a person costs.

    python benchmarks/joins.py [--events 10000000] [--keys dense sparse text] [--json]

DuckDB makes a table of events and one of a tenth as many people, whose keys are whole numbers
without gaps (and declared so), whole numbers with large gaps, or texts. A question is run as it
was written on DuckDB alone, then as Tightrope compiles it, where at most ``--rows`` events of each
person count; and as somebody would write this limit by hand, with numbered rows. All have two
threads, and processor seconds are compared, the least of all rounds.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

from tightrope.publish import parse_facts
from tightrope.publish.relations import declared_tables
from tightrope.publish.sealed import SealedQuery
from tightrope.publish.sources import open_sources
from tightrope.publish.sql_reader import read_shape

JOINED = "visits v join people p on v.person = p.person"
EACH = "(select person, count(*) as n from visits group by person) e"
#: At most so many events of each person, by hand.
LIMITED = (
    "visits v",
    "(select * from visits qualify row_number() over (partition by person "
    "order by hash(person, cost, ward)) <= {rows}) v",
)
QUESTIONS = {
    "events by region": f"select p.region, count(*) from {JOINED} group by p.region",
    "cost by region": f"select p.region, sum(v.cost) from {JOINED} group by p.region",
    "cheap events of the old": f"select count(*) from {JOINED} where p.age > 40 and v.cost < 100",
    "events by ward": f"select v.ward, count(*) from {JOINED} where p.age > 40 group by v.ward",
    "events a person": f"select avg(n) from {EACH}",
    "the same by region": f"select p.region, avg(n) from {EACH} join people p "
    "on e.person = p.person group by p.region",
}
KEYS = {
    "dense": "({0})::BIGINT",
    "sparse": "(hash(({0})::BIGINT) >> 2)::BIGINT",
    "text": "'P' || lpad(({0})::VARCHAR, 8, '0')",
}
FACTS = """
[tables.people]
population = {people}
neighbours = "add-remove"
budget = "1"
key = "person"

[tables.people.columns]
person = {{ {key} }}
age = {{ bounds = [0, 90] }}
region = {{ values = ["north", "south", "west", "east"] }}

[tables.visits]
people = "people"
person = "person"
contributions = {rows}

[tables.visits.columns]
person = {{ {key} }}
cost = {{ bounds = [0, 500] }}
ward = {{ values = [0, 1, 2, 3, 4, 5, 6, 7] }}
"""


def make(path: Path, events: int, key: str) -> None:
    """Write both tables; each event is that of somebody drawn at random."""
    people = events // 10
    with duckdb.connect(path, config={"memory_limit": "1500MB"}) as db:
        db.execute(
            f"""CREATE TABLE people AS SELECT {KEYS[key].format("range")} AS person,
                (hash(range + 7) % 90)::INTEGER AS age,
                ['north', 'south', 'west', 'east'][1 + (hash(range + 1) % 4)::INTEGER] AS region
                FROM range({people})"""
        )
        db.execute(
            f"""CREATE TABLE visits AS
                SELECT {KEYS[key].format(f"hash(range) % {people}")} AS person,
                (hash(range + 2) % 500)::INTEGER AS cost, (hash(range + 3) % 8)::INTEGER AS ward
                FROM range({events})"""
        )


def declared(key: str, people: int) -> str:
    """Return what the facts say of a key."""
    if key == "dense":
        return f"bounds = [0, {people - 1}]"
    return f'type = "{"text" if key == "text" else "integer"}"'


def seconds(work: Callable[[], object], rounds: int) -> float:
    """Return the least processor seconds."""
    taken = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def measure(path: Path, facts: Any, name: str, rounds: int) -> dict[str, Any]:
    sql = QUESTIONS[name]
    rows = facts.table("visits").contributions
    limited = sql.replace(LIMITED[0], LIMITED[1].format(rows=rows))
    with duckdb.connect(path, read_only=True) as alone:
        alone.execute("SET threads = 2")
        base = seconds(lambda: alone.execute(sql).fetchall(), rounds)
        # Numbers of people are bounded without numbers of rows.
        by_hand = (
            None
            if limited == sql
            else seconds(lambda: alone.execute(limited).fetchall(), 1)
        )
    shape = read_shape(sql, facts)
    tables = declared_tables(shape.table)
    with open_sources(f"duckdb:///{path}", tables) as sources:
        sealed = SealedQuery(sources, shape, secret="0123")
        for source in sources.values():
            source.connection.execute("SET threads = 2")
        ours = seconds(sealed.nodes, rounds)
    return {
        "question": name,
        "duckdb": base,
        "limited": by_hand,
        "tightrope": ours,
        "ratio": ours / base,
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--events", type=int, default=10_000_000)
    options.add_argument("--rows", type=int, default=40, help="contributions")
    options.add_argument("--keys", nargs="+", choices=KEYS, default=list(KEYS))
    options.add_argument("--folder", type=Path)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--json", action="store_true", help="print one JSON object")
    given = options.parse_args()
    found = []
    for key in given.keys:
        text = FACTS.format(
            people=given.events // 10,
            rows=given.rows,
            key=declared(key, given.events // 10),
        )
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            path = Path(folder) / "town.duckdb"
            make(path, given.events, key)
            for name in QUESTIONS:
                row = measure(path, parse_facts(text), name, given.rounds)
                found.append({"keys": key, **row})
                if not given.json:
                    show(found[-1])
    if given.json:
        print(json.dumps({"events": given.events, "questions": found}))


def show(row: dict[str, Any]) -> None:
    limited = (
        "" if row["limited"] is None else f"with the limit {row['limited']:.3f} s, "
    )
    print(
        f"{row['keys']:<8} {row['question']:<24} DuckDB {row['duckdb']:.3f} s, {limited}"
        f"Tightrope {row['tightrope']:.3f} s, {row['ratio']:.2f} times",
        flush=True,
    )


if __name__ == "__main__":
    main()
