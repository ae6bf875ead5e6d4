"""The job with Tightrope: four questions about `fair`, ε = 1 in all."""

import json
import sys

import tightrope as tr
from tightrope.publish import parse_facts

FACTS = """
[tables.fair]
population = 6366
neighbours = "add-remove"
budget = "1"
[tables.fair.columns]
affairs = { type = "number" }
religious = { values = [1, 2, 3, 4] }
rate_marriage = { values = [1, 2, 3, 4, 5] }
educ = { bounds = [9, 20] }
"""


def answers(path):
    def ask(sql):
        return tr.ask(
            sql, epsilon="1/4", data=path, facts=parse_facts(FACTS), ledger="ledger.db"
        )

    table = ask(
        "select religious, rate_marriage, count(*) from fair group by religious, rate_marriage"
    )
    return {
        "count": ask("select count(*) from fair where affairs > 0").value,
        "table": [cell[0].value for _, cell in table.rows],
        "sum": ask("select sum(educ) from fair").value,
        "median": float(ask("select median(educ) from fair").value),
    }


if __name__ == "__main__":
    print(json.dumps(answers(sys.argv[1])))
