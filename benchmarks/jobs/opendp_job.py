"""The job with OpenDP: four questions about `fair`, ε = 1 in all."""

import json
import sys

import opendp.prelude as dp
import polars as pl

dp.enable_features("contrib")


def answers(path):
    context = dp.Context.compositor(
        data=pl.scan_csv(path),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=4,
        margins=[dp.polars.Margin(max_length=6366)],
    )
    pairs = [(r, m) for r in range(1, 5) for m in range(1, 6)]
    keys = pl.LazyFrame(pairs, schema=["religious", "rate_marriage"], orient="row")
    years = pl.col("educ").fill_null(14)
    count = context.query().filter(pl.col("affairs") > 0).select(dp.len())
    table = (
        context.query()
        .group_by("religious", "rate_marriage")
        .agg(dp.len())
        .with_keys(keys)
    )
    total = context.query().select(years.dp.sum(bounds=(9, 20)))
    median = context.query().select(years.dp.median(candidates=list(range(9, 21))))
    cells = table.release().collect().sort("religious", "rate_marriage")
    return {
        "count": count.release().collect().item(),
        "table": cells["len"].to_list(),
        "sum": total.release().collect().item(),
        "median": median.release().collect().item(),
    }


if __name__ == "__main__":
    print(json.dumps(answers(sys.argv[1])))
