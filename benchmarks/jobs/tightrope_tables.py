"""All one- and two-way tables of five columns of `fair` with Tightrope, ε = 1 in all."""

import json
import sys
from itertools import combinations

import tightrope as tr
from tightrope.publish import parse_facts

FACTS = """
[tables.fair]
population = 6366
neighbours = "add-remove"
budget = "1"
[tables.fair.columns]
religious = { values = [1, 2, 3, 4], complete = true }
rate_marriage = { values = [1, 2, 3, 4, 5], complete = true }
occupation = { values = [1, 2, 3, 4, 5, 6], complete = true }
occupation_husb = { values = [1, 2, 3, 4, 5, 6], complete = true }
educ = { values = [9, 12, 14, 16, 17, 20], complete = true }
"""
NAMES = ("religious", "rate_marriage", "occupation", "occupation_husb", "educ")


def tables(path):
    sets = [*combinations(NAMES, 1), *combinations(NAMES, 2)]
    wanted = ", ".join(f"({', '.join(names)})" for names in sets)
    sql = f"select {', '.join(NAMES)}, count(*) from fair group by grouping sets ({wanted})"
    facts = parse_facts(FACTS)
    answer = tr.ask(sql, epsilon=1, data=path, facts=facts, ledger="ledger.db")
    return {
        ",".join(names): [float(cell[0].value) for _, cell in answer[names].rows]
        for names in sets
    }


if __name__ == "__main__":
    print(json.dumps(tables(sys.argv[1])))
