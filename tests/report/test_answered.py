"""Answers of the documentation, for the page."""

from __future__ import annotations

from nnuelab.report.answered import PUBLISHED, answers


def test_all_questions_of_the_documentation_are_there_as_plain_text():
    found = answers()
    assert found[0].question == "Can lines stand for squares?"
    assert len(found) > 10
    for each in found:
        assert each.answer
        assert not set("[]`|") & set("".join(each[:3]))


def test_without_the_documentation_there_are_none(tmp_path):
    assert answers(tmp_path / "answers.md") == []


def test_a_table_ends_where_the_text_goes_on(tmp_path):
    file = tmp_path / "answers.md"
    file.write_text(
        "# Title\n\n| a | b | c |\n|---|---|---|\n| q | [x](y) `z` 1 ± 2 ([w](v)) | |\n\n| d |\n"
    )
    assert answers(file) == [("q", "x z 1\u00a0±\u00a02", "", [])]


def test_an_answer_names_the_experiments_of_its_sections(tmp_path):
    file = tmp_path / "answers.md"
    first, second = (f"[table](../results/published/{n}_table.csv)" for n in ("a", "b_c"))
    file.write_text(
        f"# Title\n\n| q | a | c |\n|---|---|---|\n| q | [1](#at-todays-price) ({second}) | |\n\n"
        f"## At today's price\n\n{first} {second} {first}\n\n## Else\n\n{first}\n"
    )
    (answer,) = answers(file)
    assert answer.experiments == ["a", "b_c"]


def test_every_experiment_of_the_documentation_is_published():
    for answer in answers():
        for name in answer.experiments:
            assert (PUBLISHED / f"{name}_table.csv").is_file()
