"""All one- and two-way tables of five columns of `fair` with Tumult Analytics, ε = 1 in all."""

import json
import os
import sys
from itertools import combinations

from pyspark.sql import SparkSession
from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

VALUES = {
    "religious": [1, 2, 3, 4],
    "rate_marriage": [1, 2, 3, 4, 5],
    "occupation": [1, 2, 3, 4, 5, 6],
    "occupation_husb": [1, 2, 3, 4, 5, 6],
    "educ": [9, 12, 14, 16, 17, 20],
}


def tables(path):
    sets = [*combinations(VALUES, 1), *combinations(VALUES, 2)]
    spark = SparkSession.builder.getOrCreate()
    session = Session.from_dataframe(
        privacy_budget=PureDPBudget(1),
        source_id="fair",
        dataframe=spark.read.csv(path, header=True, inferSchema=True),
        protected_change=AddOneRow(),
    )
    found = {}
    for names in sets:
        keys = KeySet.from_dict({name: VALUES[name] for name in names})
        query = QueryBuilder("fair").groupby(keys).count()
        cells = session.evaluate(query, PureDPBudget(1 / len(sets))).orderBy(*names)
        found[",".join(names)] = [cell["count"] for cell in cells.collect()]
    return found


if __name__ == "__main__":
    print(json.dumps(tables(sys.argv[1])))
