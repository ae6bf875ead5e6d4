"""The main path through each panel, an error beside its field, and the pictures of the docs."""

from tightrope.studio.pictures import SKETCH_SIZE
from tightrope.studio.state import ConsumerText, PageState


def click_canvas(tab, x, y, **options):
    box = tab.page.locator("[data-canvas]").bounding_box()
    width, height = SKETCH_SIZE
    tab.page.mouse.click(
        box["x"] + x * box["width"] / width,
        box["y"] + y * box["height"] / height,
        **options,
    )


# -- 1 question ---------------------------------------------------------------------------


def test_question_is_picked_and_its_facts_shown(tab, picture):
    tab.open()
    tab.fill("Query", "petersen")
    tab.wait("[data-facts] >> text=intersection numbers")
    tab.wait("text=petersen: 10 answers")
    assert "15" in tab.text("[data-facts]")
    tab.page.wait_for_function("document.querySelectorAll('.textpoint').length == 10")
    picture(tab, "question")


def test_graph_is_drawn_by_clicks_and_undone(tab):
    tab.open()
    tab.press("Draw a graph")
    for number, (x, y) in enumerate([(60, 60), (200, 60), (130, 180)]):
        click_canvas(tab, x, y)
        tab.wait(f"[data-canvas] >> text=/^{number}$/")
    click_canvas(tab, 60, 60)
    tab.wait('[data-canvas] circle[fill="#D55E00"]')
    click_canvas(tab, 200, 60)
    tab.holds("Edges", "0-1")
    tab.wait("[data-error=question] >> text=must be connected")
    click_canvas(tab, 200, 60)
    tab.wait('[data-canvas] circle[fill="#D55E00"]')
    click_canvas(tab, 130, 180)
    tab.wait("[data-facts] >> text=path, tree")
    # The keyboard's way to the third edge, and undo.
    tab.fill("Edges", "0-1, 1-2, 2-0")
    tab.wait("[data-facts] >> text=cycle, clique")
    tab.page.get_by_role("button", name="Undo (Ctrl+Z)").click()
    tab.wait("[data-facts] >> text=path, tree")


def test_wrong_question_is_refused_beside_the_field(tab):
    tab.open()
    tab.fill("Query", "summ(3)")
    tab.wait("[data-error=question] >> text=did you mean 'sum(u,v)'")
    tab.reads("[data-facts]", "")
    tab.fill("Query", "graph:secret.csv")
    tab.wait("[data-error=question] >> text=by upload")
    tab.fill("Query", "sum(3,2)")
    tab.wait("[data-facts] >> text=answers")
    assert not tab.page.locator("[data-error=question]").is_visible()


# -- 2 privacy ----------------------------------------------------------------------------


def test_level_moves_bits_words_and_mark(tab, picture):
    tab.open(PageState(question="star(3)", epsilon="ln(3)"), panel=3)
    tab.wait("[data-exists] >> text=0.693147")
    assert tab.text("[data-number=success]") == "75 %"
    tab.wait("text=at most 3 times")
    tab.slide("ε", "ArrowRight")
    tab.reads("[data-number=success]", "75.3 %")
    tab.wait("text=at most 3.04 times")
    picture(tab, "privacy")


def test_wrong_level_is_refused_beside_the_field(tab):
    tab.open(panel=3)
    tab.fill("ε", "-1")
    tab.wait(".q-field__messages >> text=ε must look like 0.5")
    tab.fill("ε", "0.5")
    tab.wait("text=at most 1.65 times")
    assert tab.page.locator(".q-field__messages >> text=look like").count() == 0


# -- 3 consumers ----------------------------------------------------------------------------


def test_point_is_dragged_in_the_simplex(tab, picture):
    tab.open(PageState(question="choice(3)"), panel=4)
    tab.wait("[data-regular] >> text=/^yes$/")
    box = tab.wait("[data-simplex]").bounding_box()
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.62)
    tab.page.mouse.move(*middle)
    tab.page.mouse.down()
    tab.page.mouse.move(middle[0], box["y"] + box["height"] * 0.2, steps=5)
    tab.page.mouse.up()
    tab.wait("[data-regular] >> text=/^no$/")
    tab.page.get_by_role("button", name="Add a consumer").click()
    tab.wait("[data-regret] >> text=consumer 2")
    picture(tab, "consumers")


def test_consumers_have_presets_sliders_and_losses(tab):
    tab.open(PageState(question="count(3)"), panel=4)
    tab.wait("[data-regular] >> text=/^yes$/")
    tab.press("binomial(.3)")
    tab.wait("[data-regular] >> text=/^no$/")
    tab.slide("weight 0", "ArrowRight")
    tab.holds("Prior", "35/101,44/101,19/101,3/101")
    tab.fill("Prior", "0.5,0.5")
    tab.wait(".q-field__messages >> text=4")
    tab.press("fears the worst")
    tab.fill("Answers thought possible", "0..7")
    tab.wait(".q-field__messages >> text=7")
    tab.fill("Answers thought possible", "0..1")
    tab.page.locator(".q-field__messages >> text=7").wait_for(state="detached")
    tab.design()
    assert "no mechanism below" in tab.text("[data-design]")


# -- 4 mechanism --------------------------------------------------------------------------


def test_mechanism_is_designed_compared_and_judged(tab, picture):
    tab.open(
        PageState(
            question="cycle(5)",
            consumers=(ConsumerText(prior="0.4,0.15,0.15,0.15,0.15"),),
        )
    )
    tab.design()
    tab.wait("[data-heat-note] >> text=5 answers")
    assert "no mechanism below" in tab.text("[data-design]")
    assert tab.wait("[data-verdict] >> text=/^no/")
    bars = tab.page.locator("[data-bars] .bartext")
    bars.first.wait_for()
    assert bars.count() == 5
    tab.page.locator("[data-heat] .nsewdrag").hover()
    tab.wait("[data-heat] .hovertext >> text=/2\\^/")
    picture(tab, "mechanism", full=True)
    tab.page.get_by_text("Why not the others?").click()
    tab.wait("[data-routes] >> text=is not a tree")


def test_route_that_does_not_fit_is_refused_beside_its_field(tab):
    tab.open(PageState(question="cycle(5)", route="tree"))
    tab.page.keyboard.press("Control+Enter")
    tab.wait(".q-field__messages >> text=route 'tree' does not fit")
    tab.wait("[data-status] >> text=No mechanism")


# -- 6 proof ------------------------------------------------------------------------------


def test_mechanism_is_verified_and_taken_away(tab, tmp_path, picture):
    tab.open(PageState(question="count(4)", epsilon="ln(3)"))
    tab.design()
    tab.turn(6)
    tab.press("Verify")
    tab.wait("[data-verified] >> text=everything holds")

    with tab.page.expect_download() as saved:
        tab.press("Mechanism file")
    saved.value.save_as(tmp_path / "m.tightrope")
    from tightrope.certify import read, verify

    assert verify(tmp_path / "m.tightrope").private
    assert read(tmp_path / "m.tightrope").query == "count(4)"
    with tab.page.expect_download() as saved:
        tab.press("Matrix as CSV")
    saved.value.save_as(tmp_path / "m.csv")
    assert (tmp_path / "m.csv").read_text().startswith(",0,1,2,3,4\n0,")
    with tab.page.expect_download() as saved:
        tab.press("Report")
    saved.value.save_as(tmp_path / "report.html")
    assert "<svg" in (tmp_path / "report.html").read_text()
    tab.rests()
    picture(tab, "proof")


def test_number_of_people_follows_the_question(tab):
    tab.open(panel=3)
    tab.holds("people in the table", "5")
    tab.fill("people in the table", "900")
    tab.wait("text=900 people")
    tab.turn(2)
    tab.fill("Query", "sum(20,3)")
    tab.wait("text=sum(20,3): 61 answers")
    tab.turn(3)
    tab.holds("people in the table", "20")
    tab.holds("values of one person", "4")


# -- files in and out ---------------------------------------------------------------------


def upload(tab, name, path):
    tab.page.locator(f"[data-upload={name}] input[type=file]").set_input_files(path)


def test_prior_is_uploaded(tab, tmp_path):
    tab.open(PageState(question="count(3)"), panel=4)
    tab.wait("[data-regular] >> text=/^yes$/")
    known = tmp_path / "known.csv"
    known.write_text("0,0.7\n1,0.1\n2,0.1\n3,0.1\n")
    upload(tab, "prior", known)
    tab.holds("Prior", "7/10,1/10,1/10,1/10")
    tab.wait("[data-regular] >> text=/^no$/")
    # One that does not fit is refused beside the field, and the old one stays.
    known.write_text("0.5\n0.6\n")
    upload(tab, "prior", known)
    tab.wait(".q-field__messages >> text=known.csv")
    tab.holds("Prior", "7/10,1/10,1/10,1/10")


def test_points_are_uploaded(tab, tmp_path):
    tab.open()
    tab.press("Upload")
    tab.page.get_by_role("radio", name="points").click()
    places = tmp_path / "places.csv"
    places.write_text("name,x,y\nhome,0,0\nwork,3,4\npark,0,8\n")
    upload(tab, "graph", places)
    tab.wait("text=places: 3 answers")
    tab.wait("[data-facts] >> text=clique")
    tab.page.wait_for_function("document.querySelectorAll('.textpoint').length == 3")
    assert "8" in tab.text("[data-facts]")
    places.write_text("name,x,y\nhome,0,0\nwork,0,0\n")
    upload(tab, "graph", places)
    tab.wait("[data-error=question] >> text=in different places")
