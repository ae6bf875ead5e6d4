"""All one- and two-way tables of five columns of `fair` with SmartNoise SQL, ε = 1 in all."""

import json
import sys
from itertools import combinations, product

import pandas as pd
from snsql import Privacy, from_df

VALUES = {
    "religious": [1, 2, 3, 4],
    "rate_marriage": [1, 2, 3, 4, 5],
    "occupation": [1, 2, 3, 4, 5, 6],
    "occupation_husb": [1, 2, 3, 4, 5, 6],
    "educ": [9, 12, 14, 16, 17, 20],
}
COLUMNS = {name: {"type": "int"} for name in VALUES}
FAIR = {"row_privacy": True, "rows": 6366, "censor_dims": False, **COLUMNS}


def tables(path):
    sets = [*combinations(VALUES, 1), *combinations(VALUES, 2)]
    reader = from_df(
        pd.read_csv(path),
        metadata={"": {"": {"fair": FAIR}}},
        privacy=Privacy(epsilon=1 / len(sets), delta=0.0),
    )
    found = {}
    for names in sets:
        by = ", ".join(names)
        sql = f"SELECT {by}, COUNT(*) AS n FROM fair GROUP BY {by}"
        cells = {tuple(row[:-1]): row[-1] for row in reader.execute(sql)[1:]}
        groups = product(*(VALUES[name] for name in names))
        found[",".join(names)] = [cells.get(group, 0) for group in groups]
    return found


if __name__ == "__main__":
    print(json.dumps(tables(sys.argv[1])))
