"""What three mechanisms for the same question tell: utility and leakage side by side.

python examples/leakage_of_noise.py
"""

import tightrope as tr
from tightrope.leakage import (
    individual_bound,
    individual_leakage,
    min_capacity,
    min_entropy_leakage as leakage,
)
from tightrope.mechanisms import exponential, geometric, randomized_response


def main() -> None:
    count = tr.query("count(8)")
    print("count(8) at ε = 1        right guess  leakage  capacity  one person (bits)")
    for make in (geometric, exponential, randomized_response):
        channel = make(count.graph, 1)
        consumer = tr.Consumer.of(count.graph, prior="uniform", loss="binary")
        right = tr.consumers.utility(channel, consumer)
        person = individual_leakage(channel, count).bits
        print(
            f"{make.__name__:<22} {right:12.4f} {leakage(channel):8.4f}"
            f" {min_capacity(channel):9.4f} {person:10.4f}"
        )
    print(
        f"no private mechanism tells more than {individual_bound(2, 1).bits:.4f} about one person"
    )


if __name__ == "__main__":
    main()
