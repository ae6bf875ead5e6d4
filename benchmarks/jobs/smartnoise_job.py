"""The job with SmartNoise SQL: it has no median, so three questions at ε = 1/4 each."""

import json
import sys

import pandas as pd
from snsql import Privacy, from_df

COLUMNS = {
    "religious": {"type": "int", "lower": 1, "upper": 4},
    "rate_marriage": {"type": "int", "lower": 1, "upper": 5},
    "educ": {"type": "int", "lower": 9, "upper": 20},
    "affairs": {"type": "float", "lower": 0, "upper": 60},
}
FAIR = {"row_privacy": True, "rows": 6366, "censor_dims": False, **COLUMNS}


def answers(path):
    reader = from_df(
        pd.read_csv(path),
        metadata={"": {"": {"fair": FAIR}}},
        privacy=Privacy(epsilon=0.25, delta=0.0),
    )
    count = reader.execute("SELECT COUNT(*) AS n FROM fair WHERE affairs > 0")
    table = reader.execute(
        "SELECT religious, rate_marriage, COUNT(*) AS n FROM fair GROUP BY religious, rate_marriage"
    )
    total = reader.execute("SELECT SUM(educ) AS s FROM fair")
    return {
        "count": count[1][0],
        "table": [row[2] for row in sorted(table[1:])],
        "sum": total[1][0],
    }


if __name__ == "__main__":
    print(json.dumps(answers(sys.argv[1])))
