"""Details of a report: sections at its end, each folded, with the headings of a report in their order."""

from bs4 import BeautifulSoup

from runners.present.kit.folding import TITLE, fold, leave_out_empty

BODY = """
<div class="words"><h2>Answer</h2></div><div class="fragment">the answer</div>
<div class="words folded"><h2>Method</h2><p>How.</p></div><div class="code">plan()</div><div class="words"><h3>More</h3></div>
<div class="words"><h2>Limits</h2></div><div class="fragment">few</div>
<div class="words folded"><h3>Checks</h3></div><div class="fragment">held</div>
<div class="words"><h3>Another question</h3></div>
"""


def folded(text=BODY):
    body = BeautifulSoup(text, "html.parser")
    fold(body)
    return body


def test_a_marked_section_stands_at_the_end_with_all_up_to_the_next_heading_of_its_level():
    body = folded()
    sections = body.find_all("details")
    assert [section.summary.get_text() for section in sections] == ["Method", "Checks"]
    assert "How." in sections[0].get_text()
    assert "plan()" in sections[0].get_text()
    assert "More" in sections[0].get_text()
    assert "Limits" not in sections[0].get_text()
    assert "held" in sections[1].get_text()
    assert "Another question" not in sections[1].get_text()


def test_the_details_follow_what_is_visible_under_a_heading_of_their_own():
    headings = [heading.get_text() for heading in folded().find_all(["h2", "h3"])]
    assert headings == ["Answer", "Limits", "Another question", TITLE, "Method", "More", "Checks"]


def test_a_report_without_marked_sections_stays_as_it_is():
    text = '<div class="words"><h2>Answer</h2></div><div class="fragment">the answer</div>'
    assert str(folded(text)) == text


def test_a_question_with_nothing_to_show_is_left_out_with_its_code():
    text = """<div class="words"><h2>Questions</h2></div>
    <div class="words"><h3>Open</h3></div><div class="code">draw()</div><div class="fragment"><svg></svg></div>
    <div class="words"><h3>Not measured</h3></div><div class="code">draw()</div><div class="fragment"></div>
    <div class="words"><h3>Explained</h3><p>Why.</p></div>
    <div class="words"><h2>Limits</h2></div><div class="fragment">few</div>"""
    body = BeautifulSoup(text, "html.parser")
    leave_out_empty(body)
    assert [heading.get_text() for heading in body.find_all(["h2", "h3"])] == [
        "Questions",
        "Open",
        "Explained",
        "Limits",
    ]
    assert len(body.select(".code")) == 1
