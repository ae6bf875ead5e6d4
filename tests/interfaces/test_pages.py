"""What MkDocs makes of our pages: formulas that browsers draw, and words that are explained."""

import re
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[2]
HOOKS = runpy.run_path(str(ROOT / "scripts" / "mkdocs_hooks.py"))
PAGES = sorted(
    path for path in (ROOT / "docs").rglob("*.md") if "$`" in path.read_text("utf-8")
)


def built(path):
    import markdown

    text = HOOKS["on_page_markdown"](path.read_text(encoding="utf-8"))
    page = SimpleNamespace(
        file=SimpleNamespace(src_uri=str(path.relative_to(ROOT / "docs")))
    )
    return HOOKS["on_page_content"](
        markdown.markdown(text, extensions=["tables"]), page=page
    )


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_formulas_are_mathml_without_leftovers(path):
    page = built(path)
    formulas = re.findall(r"<math .*?</math>", page, re.DOTALL)
    source = path.read_text(encoding="utf-8")
    assert len(formulas) == source.count("$`") + source.count("```math")
    assert not any("\\" in formula for formula in formulas)


def test_the_bars_of_a_norm_are_as_high_as_a_letter():
    page = built(ROOT / "docs" / "concepts" / "tight-constraints.md")
    assert page.count('<mo stretchy="false">&#x02016;</mo>') == 4
    assert "<mo>&#x02016;</mo>" not in page


def test_first_use_of_a_word_of_the_papers_has_its_meaning():
    page = built(ROOT / "docs" / "concepts" / "optimal.md")
    for word in ("remap", "regular prior", "prices", "tight constraints"):
        links = re.findall(
            rf'<a href="../glossary.html" title="[^"]+">{word}s?</a>', page, re.I
        )
        assert len(links) == 1, word
    assert "glossary.html" not in built(ROOT / "docs" / "glossary.md")


WORDS = runpy.run_path(str(ROOT / "scripts" / "check_words.py"))


def test_words_are_plain(capsys):
    assert WORDS["main"]([]) == 0, capsys.readouterr().out


def test_a_word_that_should_be_another_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "Guessed rightly, with 95 %.\n\n`errs` and commonest(5) are code.\n"
    )
    found = list(WORDS["findings"](page))
    assert [line.partition("write ")[2] for line in found] == [
        "'correctly', not 'rightly'",
        "'with probability 95 %', not 'with 95 %'",
    ]
    message = tmp_path / "message.py"
    message.write_text('rightly = 1  # it errs\nraise ValueError("at hand")\n')
    assert len(list(WORDS["findings"](message))) == 2
