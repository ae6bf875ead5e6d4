"""All one- and two-way tables of five columns of `fair` with OpenDP, ε = 1 in all."""

import json
import sys
from itertools import combinations, product

import opendp.prelude as dp
import polars as pl

dp.enable_features("contrib")

VALUES = {
    "religious": [1, 2, 3, 4],
    "rate_marriage": [1, 2, 3, 4, 5],
    "occupation": [1, 2, 3, 4, 5, 6],
    "occupation_husb": [1, 2, 3, 4, 5, 6],
    "educ": [9, 12, 14, 16, 17, 20],
}


def tables(path):
    sets = [*combinations(VALUES, 1), *combinations(VALUES, 2)]
    context = dp.Context.compositor(
        data=pl.scan_csv(path),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=len(sets),
        margins=[dp.polars.Margin(max_length=6366)],
    )
    found = {}
    for names in sets:
        groups = list(product(*(VALUES[name] for name in names)))
        keys = pl.LazyFrame(groups, schema=list(names), orient="row")
        query = context.query().group_by(*names).agg(dp.len()).with_keys(keys)
        cells = query.release().collect().sort(*names)
        found[",".join(names)] = cells["len"].to_list()
    return found


if __name__ == "__main__":
    print(json.dumps(tables(sys.argv[1])))
