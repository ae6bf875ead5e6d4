"""What a publisher states about a publication, in the forms that others ask for.

An entry for the public registry of differential privacy deployments (Nanayakkara, Ghazi, Vadhan,
arXiv:2509.13509), with the fields of all three tiers; and a sheet that answers, factor by factor,
what NIST SP 800-226 asks of a claim of differential privacy. Both are made from the plan that was
carried out, the answers and the public facts: nothing in them is typed a second time.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tightrope.asking.answers import about_text, releases_of
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError
from tightrope.kinds import protected
from tightrope.publish.accounts import charge_of, shown
from tightrope.queries import Neighbours
from tightrope.texts import bound_text

if TYPE_CHECKING:
    from tightrope.asking.answers import Answer
    from tightrope.asking.planning import Plan
    from tightrope.publish.facts import Publisher, Table

#: What each neighbour relation means for two tables, and what it leaves open.
ADJACENT = {
    Neighbours.CHANGE_ONE: (
        "bounded: two tables are neighbours if they differ in what one person's rows say. The "
        "number of people is public."
    ),
    Neighbours.ADD_REMOVE: (
        "unbounded: two tables are neighbours if one has one person more. Whether somebody is in "
        "the table is protected."
    ),
    Neighbours.EITHER: (
        "bounded and unbounded: two tables are neighbours if they differ in what one person's "
        "rows say, or in whether that person is there."
    ),
}  # fmt: skip
_DRAWN = (
    "Each mechanism is a file of integer weights whose privacy was checked in integers before a "
    "row was read; outputs are drawn with the secure random source of the operating system. No "
    "floating-point number decides anything."
)
_SIDE_CHANNELS = (
    "A draw from listed weights does a fixed amount of work; a draw of noise on a lattice takes "
    "longer, the larger the noise. The time of the query, the disk and the network is not hidden. "
    "No row can make the query fail."
)


@dataclass(frozen=True)
class Disclosure:
    """What is stated about one publication.

    Attributes
    ----------
    plan, answers
        What was planned, and what came out.
    title
        What the publication is called.
    """

    plan: Plan
    answers: Sequence[Answer]
    title: str

    @property
    def table(self) -> Table:
        """The table that was asked."""
        return self.plan.questions[0].parts[0].shape.table

    @cached_property
    def receipts(self) -> list[Mapping[str, Any]]:
        """The signed receipts of all draws."""
        return [release.receipt for release in releases_of(self.answers)]

    @property
    def date(self) -> str:
        """The day of the last draw."""
        return str(self.receipts[-1]["time"])[:10]

    @property
    def delta(self) -> Fraction:
        """The δ of all questions together."""
        charges = [receipt["charges"][0] for receipt in self.receipts]
        # δ of several releases adds up.
        deltas = (Fraction(one.get("delta", 0)) for one in charges)
        return sum(deltas, Fraction(0))

    @property
    def epsilon(self) -> Fraction:
        """The ε of all answers together; of a chain that of the finest, with those before it."""
        # An answer that sharpens nothing costs what was planned.
        if self.plan.questions[-1].step == 1:
            return self.plan.cost
        return charge_of(Epsilon.of(self.answers[-1].epsilon))

    @property
    def level(self) -> str:
        """The privacy parameters, as a text."""
        return f"ε = {shown(self.epsilon)}" + (
            f", δ = {float(self.delta):g}" if self.delta else ""
        )

    @property
    def unit(self) -> str:
        """Whose data is protected."""
        table = self.table
        if table.person is None:
            return "one person, who has one row"
        rows = table.contributions
        many = "one row" if rows == 1 else f"up to {rows} rows"
        return f"one person by the column {table.person}, of whom {many} count"

    @property
    def about(self) -> str:
        """Which table the numbers are about: what becomes of values outside the facts."""
        return about_text(scope for one in self.answers for scope in one.about)

    @property
    def asked(self) -> str:
        """The questions, as they were asked."""
        return "; ".join(one.asked for one in self.plan.questions)

    @property
    def quality(self) -> str:
        """What is proved of the noise, and how its margins compare with the usual noise."""
        # The same sentence for several answers is stated once.
        notes = dict.fromkeys(note for one in self.answers for note in one.notes)
        return " ".join(notes)

    @property
    def mechanisms(self) -> str:
        """The mechanisms that were drawn from, by question and digest."""
        drawn = dict.fromkeys(
            f"{draw.words}: mechanism file with SHA-256 {noise.digest}"
            for one in self.plan.questions
            for part in one.parts
            # Digests let readers check that a mechanism file is the one that was drawn from.
            for draw, noise in zip(part.shape.draws, part.noises, strict=True)
        )
        return "; ".join(drawn)

    @property
    def budget(self) -> str:
        """How this publication is paid for, and what is left."""
        left = shown(self.answers[-1].remaining)
        series = self.receipts[-1]["charges"][0].get("series")
        paid = (
            f"Paid by the series {series}, whose levels are composed by their privacy losses."
            if series
            else f"Charged to the table's budget before a row was read; ε = {left} is left."
        )
        return (
            f"{paid} The levels of all releases from a table add up in a ledger of exact "
            "fractions, which refuses what exceeds the budget."
        )

    @property
    def post_processing(self) -> str:
        """What is computed from the drawn numbers alone."""
        lines = ["Intervals follow from the drawn numbers and the mechanisms alone."]
        if any(one.measured for one in self.plan.questions):
            lines.append(
                "All tables come from one estimate of the measured ones, so that they add up."
            )
        if self.plan.whole:
            lines.append(
                "Whole numbers of at least 0 stand beside the unbiased ones; they are biased."
            )
        return " ".join(lines)

    @property
    def public(self) -> str:
        """What is public and therefore not protected."""
        columns = ", ".join(self.table.columns) or "none"
        # Under change-one all neighbours have the same number of people.
        is_exact = self.table.neighbours is Neighbours.CHANGE_ONE
        people = "the number of people, " if is_exact else ""
        return (
            f"Not protected: {people}the name of the table, the declared values and bounds of its "
            f"columns ({columns}), the questions, the level and the mechanisms."
        )


def _ratio_text(epsilon: Fraction | float) -> str:
    """Write e^ε for people, rounded up.

    >>> _ratio_text(Fraction(1, 3)), _ratio_text(math.log(3)), _ratio_text(40)
    ('1.4', '3', 'e^ε')
    """
    # Beyond e^40 a number says nothing.
    if epsilon >= 40:
        return "e^ε"
    # e^ln(3) is computed as 3.0000000000000004, which would be rounded up to 3.01.
    accuracy = 1e-12
    return bound_text(math.exp(epsilon) * (1 - accuracy), 3)


def sp_800_226(disclosure: Disclosure) -> dict[str, str]:
    """Answer the factors of NIST SP 800-226, from the guarantee down to what it rests on."""
    most = _ratio_text(disclosure.epsilon)
    # NIST distinguishes pure and approximate differential privacy.
    variant = "approximate" if disclosure.delta else "pure"
    confidence = f"{float(disclosure.plan.confidence) * 100:.4g} %"
    return {
        "Privacy parameter": f"{disclosure.level}, {variant} differential privacy: "
        f"no result is more than {most} times as likely with one person's data as with any other"
        + (", except with probability δ." if disclosure.delta else "."),
        "Unit of privacy": f"Protected is {disclosure.unit}.",
        "Neighbouring tables": f"Protects {protected(disclosure.table.neighbours.value)}; "
        + ADJACENT[disclosure.table.neighbours],
        "What is not protected": disclosure.public,
        "Composition": disclosure.budget,
        "Other releases": "What is published from the same people in another way, or from another "
        "ledger, is not counted here.",
        "Mechanisms": f"{disclosure.mechanisms}. {_DRAWN}",
        "Utility": f"Every number has an interval that contains the true one with probability at "
        f"least {confidence}. {disclosure.quality}",
        "Bias": f"Numbers are about {disclosure.about}. The noise is the same for small and large "
        f"groups: it is a larger share of a small one. {disclosure.post_processing}",
        "Trust": "Central model: whoever holds the table and runs the query sees it and is "
        "trusted. Readers, also all of them together, are not.",
        "Floating point": "Not used for weights, draws, levels or the ledger.",
        "Side channels": _SIDE_CHANNELS,
        "Security and access": "Not part of this guarantee: the publisher protects the table, the "
        "ledger and its signing key, and decides who may ask.",
        "Data collection": "Not part of this guarantee: it begins with the table as it was "
        "collected. Who was asked, and who answered, is a bias of its own.",
        "How to check": "Save the report and run `tightrope verify` on it; the ledger proves by "
        "`tightrope ledger verify` that nothing was altered or removed.",
    }  # fmt: skip


def registry_entry(disclosure: Disclosure, publisher: Publisher) -> dict[str, Any]:
    """Return the entry for the registry of deployments, with the fields of all three tiers."""
    from tightrope import __version__

    variant = "Approximate DP" if disclosure.delta else "Pure DP"
    parameters = {"epsilon": float(disclosure.epsilon)}
    if disclosure.delta:
        parameters["delta"] = float(disclosure.delta)
    sheet = sp_800_226(disclosure)
    receipt = disclosure.receipts[-1]
    in_series = "series" in receipt["charges"][0]
    basic = {
        "name": disclosure.title,
        "data_curators": list(publisher.curators),
        "intended_use": publisher.use,
        "data_product_type": "Summary statistics",
        "data_product_region": publisher.region,
        "description": f"{disclosure.title}: {disclosure.asked}",
        "publication_date": disclosure.date,
    }
    if publisher.sector is not None:
        basic["data_product_sector"] = publisher.sector
    return {
        "url_slug": slug(disclosure.title),
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": basic,
            "dp_variant": {
                "variant_name": variant,
                "data_domain": f"All tables of this kind: {disclosure.about}.",
                "unprotected_quantities": disclosure.public,
            },
            "privacy_loss": {
                "privacy_unit": disclosure.unit,
                "privacy_unit_details": sheet["Neighbouring tables"],
                "privacy_parameters": parameters,
                "privacy_parameters_details": sheet["Privacy parameter"],
            },
            "deployment_model": {
                "model_name": "Central",
                "model_name_details": sheet["Trust"],
                "actors": f"{', '.join(publisher.curators)} hold the table and are trusted with "
                "it; whoever reads the publication is not. "
                + sheet["Security and access"],
                "release_type": "Many releases" if in_series else "One release",
                "release_type_details": disclosure.budget,
                "data_source_type": "Dynamic" if publisher.dynamic else "Static",
                "data_source_type_details": "The table grows or changes between publications."
                if publisher.dynamic
                else "The table does not change after this publication.",
                "access_type": "Non-interactive",
                "access_type_details": "Readers get the published numbers and nothing else.",
            },
            "accounting": {
                "post_processing": disclosure.post_processing,
                "composition": disclosure.budget,
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": "Bounds and values of columns are "
                f"declared, never read from the rows. Numbers are about {disclosure.about}.",
                "mechanisms": f"Tightrope {__version__}. {sheet['Mechanisms']} {_SIDE_CHANNELS}",
                "justification": f"{publisher.reasons} {disclosure.quality}".strip(),
            },
            "administrative": {
                "sources": publisher.sources or sheet["How to check"],
                "notes": f"Receipt of the last draw: entry {receipt['position']} of "
                f"ledger {receipt['ledger']}, hash {receipt['hash']}.",
                "registry_authors": list(publisher.authors or publisher.curators),
            },
        },
    }  # fmt: skip


def slug(title: str) -> str:
    """Return a title as the name of a file in the registry.

    >>> slug("Smokers, by région (2026)")
    'smokers_by_r_gion_2026'
    """
    # Lower case, digits and underscores only: it becomes the name of a file.
    return re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_") or "publication"


def yaml_text(value: Any, depth: int = 0) -> str:
    """Write nested mappings and lists of texts and numbers as YAML; every text is in quotes.

    >>> print(yaml_text({"tier": 3, "basic": {"data_curators": ["An office"], "name": "a: b"}}))
    tier: 3
    basic:
      data_curators:
        - "An office"
      name: "a: b"
    """
    inside = "  " * depth
    lines = []
    if isinstance(value, Mapping):
        for key, child in value.items():
            if isinstance(child, Mapping | list):
                lines += [f"{inside}{key}:", yaml_text(child, depth + 1)]
            else:
                # A JSON text is a valid YAML scalar, so nothing needs to be escaped by hand.
                lines.append(f"{inside}{key}: {json.dumps(child, ensure_ascii=False)}")
    else:
        lines += [
            f"{inside}- {json.dumps(child, ensure_ascii=False)}" for child in value
        ]
    return "\n".join(lines)


def need_publisher(publisher: Publisher | None) -> Publisher:
    """Return who publishes, or say where that is written; before anything is paid."""
    if publisher is None:
        raise InputError(
            "--registry needs to know who publishes: add [publisher] with curators, use, "
            "region and dynamic to the public facts"
        )
    return publisher
