"""Make people.csv: 2,000 rows about people who do not exist, drawn with a fixed seed.

python examples/data/make_people.py
"""

import csv
import random
from pathlib import Path

ROWS = 2000
#: Each region with its share of the people, and its cities with theirs.
REGIONS = {
    "north": (45, {"Arnby": 60, "Birk": 30, "Cold Bay": 9, "Dun": 1}),
    "south": (35, {"Elmo": 70, "Fairford": 25, "Gale": 5}),
    "west": (20, {"Harrow": 95, "Isle": 5}),
}


def pick(chance: random.Random, weights: dict[str, int]) -> str:
    return chance.choices(list(weights), list(weights.values()))[0]


def main() -> None:
    chance = random.Random(1996)
    path = Path(__file__).with_name("people.csv")
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["id", "age", "sex", "region", "city", "smokes", "income"])
        for number in range(1, ROWS + 1):
            age = min(90, max(18, round(chance.gauss(44, 17))))
            region = pick(chance, {name: share for name, (share, _) in REGIONS.items()})
            city = pick(chance, REGIONS[region][1])
            smokes = "yes" if chance.random() < (0.35 if age < 40 else 0.2) else "no"
            income = min(200, max(0, round(chance.lognormvariate(3.5, 0.6))))
            table.writerow(
                [number, age, chance.choice("fm"), region, city, smokes, income]
            )


if __name__ == "__main__":
    main()
