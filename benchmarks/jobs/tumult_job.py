"""The job with Tumult Analytics: four questions about `fair`, ε = 1 in all."""

import json
import os
import sys

from pyspark.sql import SparkSession
from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def answers(path):
    spark = SparkSession.builder.getOrCreate()
    session = Session.from_dataframe(
        privacy_budget=PureDPBudget(1),
        source_id="fair",
        dataframe=spark.read.csv(path, header=True, inferSchema=True),
        protected_change=AddOneRow(),
    )
    share = PureDPBudget(0.25)
    keys = KeySet.from_dict(
        {"religious": [1, 2, 3, 4], "rate_marriage": [1, 2, 3, 4, 5]}
    )
    count = session.evaluate(QueryBuilder("fair").filter("affairs > 0").count(), share)
    table = session.evaluate(QueryBuilder("fair").groupby(keys).count(), share)
    total = session.evaluate(QueryBuilder("fair").sum("educ", low=9, high=20), share)
    median = session.evaluate(
        QueryBuilder("fair").median("educ", low=9, high=20), share
    )
    cells = table.orderBy("religious", "rate_marriage").collect()
    return {
        "count": count.first()[0],
        "table": [cell["count"] for cell in cells],
        "sum": total.first()[0],
        "median": median.first()[0],
    }


if __name__ == "__main__":
    print(json.dumps(answers(sys.argv[1])))
