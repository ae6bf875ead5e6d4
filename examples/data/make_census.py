"""Make census.csv: the columns of the UCI "Adult" census table, rows that are nobody's.

The names and the kinds of values are those of the public table (Becker and Kohavi, 1996). No row
is taken from it: each value is drawn from the rounded frequencies below, with a fixed seed, so
the file is the same each time.

    python examples/data/make_census.py
"""

import csv
import random
from pathlib import Path

ROWS = 2000

WORKCLASS = {
    "Private": 70,
    "Self-employed": 11,
    "Government": 13,
    "Without-pay": 1,
    "Unknown": 5,
}
EDUCATION = {8: 4, 9: 32, 10: 22, 12: 8, 13: 22, 14: 7, 16: 5}
SEX = {"Female": 33, "Male": 67}


def pick(chance: random.Random, weights: dict) -> object:
    return chance.choices(list(weights), list(weights.values()))[0]


def main() -> None:
    chance = random.Random(1996)
    path = Path(__file__).with_name("census.csv")
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(
            ["id", "age", "workclass", "education_years", "sex", "hours_per_week", "high_income"]
        )
        for number in range(1, ROWS + 1):
            age = min(90, max(17, round(chance.gauss(38, 13))))
            school = pick(chance, EDUCATION)
            hours = min(99, max(1, round(chance.gauss(40, 11))))
            rich = chance.random() < 0.04 * (school - 6) + (0.1 if age > 35 else 0)
            work, sex = pick(chance, WORKCLASS), pick(chance, SEX)
            table.writerow([number, age, work, school, sex, hours, str(rich).lower()])


if __name__ == "__main__":
    main()
