"""The page of a running pipeline, in a real Chromium: what happens is seen as it happens.

All tests look at one pipeline through one browser. Each has nodes of its own, so that none
depends on what another one leaves behind.
"""

from __future__ import annotations

import base64
from functools import partial
from itertools import combinations, pairwise
from urllib.parse import parse_qsl, quote, urlsplit

import pytest
from chromium import chromium, programs, requests, visible
from debian_packages import UnavailableError
from free_ports import free_port
from left_out import leave_out
from pipelines import await_published, eventually, fact, new_case, producing
from selenium.webdriver import Keys
from serving import ask, await_ready, serving
from spark_jvm import MARKS

from streamreasoner.config.secrets import Secret
from streamreasoner.service.assemble import pipeline

pytestmark = MARKS

RULES = """@prefix ex: <http://example.org/> .
@input link/2 .
@rule "one step" reach(?x, ?y) :- link(?x, ?y) .
reach(?x, ?z) :- reach(?x, ?y), link(?y, ?z) .
[?x, ex:reaches, ?y] :- reach(?x, ?y) .
"""
HOSTILE = '"<img src=x onerror=window.hit=1><script>window.hit=1</script>"'
UNKNOWN = "\N{EN DASH}"
VIEWS = ("changes", "rules", "fact", "query", "state")
CONTRAST = 4.5
"""The least ratio for text (WCAG 2.2, 1.4.3)."""


class Page:
    """The page in a browser, alongside the input topic of its pipeline."""

    def __init__(self, browser, port, case, send):
        self.browser, self.port, self.case, self._send = browser, port, case, send
        self.url = f"http://127.0.0.1:{port}/"

    def link(self, *nodes, diff=1):
        """Assert or retract the links of a chain, and wait until the server answers with it."""
        self.send([fact("link", *map(term, pair), diff=diff) for pair in pairwise(nodes)])
        last = ", ".join(map(term, nodes[-2:]))
        seen = partial(ask, self.port, "/facts", pattern=f"link({last})")
        eventually(lambda: len(seen().json["facts"]), int(diff > 0))

    def send(self, messages):
        """Send messages, and wait until they are published."""
        await_published(self.case, self._send(messages))

    def show(self, fragment, *, load=False):
        """Go to a fragment, loading the page if need be, and wait until it follows the pipeline."""
        if load or not self.browser.current_url.startswith(self.url):
            self.browser.get("about:blank")
            self.browser.get(f"{self.url}#{fragment}")
        self.browser.execute_script("location.hash = arguments[0]", fragment)
        eventually(lambda: self.text("#status").endswith("live"), expected=True)

    def show_fact(self, text):
        """Load the view of a fact, and wait for its answer."""
        self.show(f"fact?fact={quote(text)}")
        eventually(lambda: bool(self.text(".verdict")), expected=True)

    def find(self, selector):
        """The visible elements that a selector of CSS matches."""
        return visible(self.browser, selector)

    def text(self, selector):
        """The text of the first visible element."""
        return next(iter(self.texts(selector)), "")

    def texts(self, selector):
        """The texts of visible elements at one moment, while rows come and go."""
        script = "const read = e => (e.innerText ?? e.textContent).trim();"
        script += "const seen = e => e.getClientRects().length > 0;"
        script += "return [...document.querySelectorAll(arguments[0])].filter(seen).map(read)"
        return self.browser.execute_script(script, selector)

    def press(self, *keys):
        """Press keys wherever the focus is."""
        self.browser.switch_to.active_element.send_keys(*keys)

    def click(self, selector):
        """Click on the first visible element."""
        self.find(selector)[0].click()


def term(node):
    """The IRI of a node, or a term as it is."""
    return node if node.startswith('"') else f"<http://example.org/{node}>"


@pytest.fixture(scope="module")
def page(broker, joined_jvm, tmp_path_factory):
    """A pipeline with a server, and a browser."""
    del joined_jvm
    try:
        programs()
    except UnavailableError as error:
        leave_out(str(error))
    directory = tmp_path_factory.mktemp("page")
    port = free_port()
    case = new_case(broker, directory, RULES, server={"port": port, "facts": True})
    with pipeline(case.config), producing(case) as send, chromium(directory / "profile") as browser:
        found = Page(browser, port, case, send)
        found.send([fact("link", term("here"), term("there"))])
        await_ready(port)
        yield found


def test_changes_appear_and_are_filtered_and_paused(page):
    """As they are published; the filter is in the address, and a pause keeps what is shown."""
    page.show("changes")
    shown = "#view-changes tbody .fact"
    page.link("c1", "c2", "c3")
    eventually(lambda: "reach(ex:c1, ex:c3)" in page.texts(shown), expected=True)

    page.find("[name=filter]")[0].send_keys("REACHES c2")
    found = {"ex:c1 ex:reaches ex:c2", "ex:c2 ex:reaches ex:c3"}
    eventually(lambda: set(page.texts(shown)), found)
    assert page.browser.current_url.endswith("#changes?filter=REACHES+c2")

    page.click("[name=pause]")
    page.link("c2", "c4")
    eventually(lambda: "paused, 4 new" in page.text("#view-changes .count"), expected=True)
    assert set(page.texts(shown)) == found
    page.click("[name=pause]")
    eventually(lambda: "ex:c2 ex:reaches ex:c4" in page.texts(shown), expected=True)
    page.link("c2", "c4", diff=-1)
    went = "#view-changes tbody tr.went .fact"
    eventually(lambda: set(page.texts(went)), {"ex:c2 ex:reaches ex:c4"})


def test_terms_are_text_whatever_they_say(page):
    """A literal that looks like markup is shown as it is, in every view, and runs nowhere."""
    page.show("changes")
    page.link("h1", HOSTILE)
    row = f"reach(ex:h1, {HOSTILE})"
    eventually(lambda: row in page.texts("#view-changes tbody .fact"), expected=True)
    page.show_fact(f"reach({term('h1')}, {HOSTILE})")
    assert page.text(".tree button.node") == row
    page.show(f"query?query={quote(f'SELECT ?s ?p ?o {{ ?s ?p ?o FILTER(?o = {HOSTILE}) }}')}")
    page.click("#view-query button")
    eventually(lambda: HOSTILE in page.texts("#view-query td .term"), expected=True)
    assert page.browser.execute_script("return window.hit") is None
    assert (
        page.browser.execute_script("return document.querySelectorAll('main script').length") == 0
    )


def test_a_proof_opens_step_by_step_and_goes_with_its_reason(page):
    """From a change to its reason; retracted elsewhere, it is seen to go, and to come again."""
    page.link("p1", "p2", "p3", "p4")
    page.show("changes?filter=reach+p1+p4")
    why = "#view-changes tbody a[aria-label^='why: reach']"
    eventually(lambda: len(page.find(why)), 1)
    page.click(why)

    eventually(lambda: page.text(".verdict"), "Present.")
    nodes = ["reach(ex:p1, ex:p4)", "reach(ex:p1, ex:p3)", "link(ex:p3, ex:p4)"]
    eventually(lambda: page.texts(".tree .node"), nodes)
    step = page.find(".tree button.node[aria-expanded=false]")[0]
    step.send_keys(Keys.ENTER)
    nodes[2:2] = ["reach(ex:p1, ex:p2)", "link(ex:p2, ex:p3)"]
    assert page.texts(".tree .node") == nodes
    assert "rules.dl" in page.text(".tree .rule") or "program in effect" in page.text(".tree .rule")
    assert page.texts(".tree .badge") == ["asserted", "asserted"]

    page.link("p2", "p3", diff=-1)
    eventually(lambda: page.text(".verdict").startswith("It went away: present at"), expected=True)
    eventually(lambda: "link(ex:p2, ex:p4) is missing" in page.text(".absence"), expected=True)
    page.link("p2", "p3")
    eventually(lambda: page.text(".verdict").startswith("It came: absent at"), expected=True)
    eventually(lambda: page.texts(".tree .node"), nodes)


def test_a_query_is_answered_as_table_and_graph(page):
    """By Ctrl+Enter; triples are drawn, other rows are not, and a mistake shows its place."""
    page.link("q1", "q2", "q3")
    page.show("query")
    box = page.find("#query")[0]

    def run(text):
        box.clear()
        box.send_keys(text, Keys.CONTROL, Keys.ENTER)

    run("PREFIX ex: <http://example.org/> SELECT ?y { ex:q1 ex:reaches ?y } ORDER BY ?y")
    eventually(lambda: page.texts(".results td"), ["ex:q2", "ex:q3"])
    assert not page.find(".graph svg")
    assert page.text("#view-query .count").startswith("2 rows, epoch ")
    run(
        "PREFIX ex: <http://example.org/> CONSTRUCT { ?y ex:from ?x } "
        "WHERE { ?x ex:reaches ?y FILTER(?x = ex:q1) }"
    )
    eventually(lambda: sorted(page.texts(".graph .vertex text")), ["ex:q1", "ex:q2", "ex:q3"])
    assert len(page.find(".graph .edge")) == 2
    assert "All edges are ex:from." in page.text(".graph figcaption")
    assert page.texts(".results tbody tr td:first-child") == ["ex:q2", "ex:q3"]
    run("SELECT * { ?s ?p }")
    eventually(lambda: "SELECT * { ?s ?p }" in page.text(".results .problem"), expected=True)
    run("ASK { <http://example.org/q3> ?p ?o }")
    eventually(lambda: page.text(".results .truth"), "false")


def test_a_link_to_a_query_runs_it_and_it_is_kept(page):
    """Its answer can be saved in other formats; it is among the earlier ones, next to examples."""
    page.link("l1", "l2")
    query = "PREFIX ex: <http://example.org/> SELECT ?y { ex:l1 ex:reaches ?y }"
    page.show(f"query?query={quote(query)}", load=True)
    eventually(lambda: page.texts(".results td"), ["ex:l2"])
    links = {each.text: each.get_attribute("href") for each in page.find(".downloads a")}
    assert list(links) == ["CSV", "TSV", "JSON", "XML"]
    saved = urlsplit(links["CSV"])
    answer = ask(page.port, saved.path, **dict(parse_qsl(saved.query)))
    assert answer.body.split() == ["y", "http://example.org/l2"]

    options = "return [...document.querySelectorAll('[name=earlier] option')].map((o) => o.text)"
    assert {"some triples", "a graph", query} <= {*page.browser.execute_script(options)}
    page.browser.execute_script(
        "const choice = document.querySelector('[name=earlier]');"
        "choice.value = 'ASK { ?s ?p ?o }'; choice.dispatchEvent(new Event('change'))"
    )
    eventually(lambda: page.text(".results .truth"), "true")
    assert not page.find(".downloads")


def test_labels_of_a_graph_do_not_cover_each_other(page):
    """Of a graph with many edges some labels are left out, and the caption says how many."""
    page.link(*(f"g{number}" for number in range(12)))
    page.show(
        "query?query="
        + quote("SELECT ?s ?p ?o { ?s ?p ?o FILTER(STRSTARTS(STR(?s), 'http://example.org/g')) }")
    )
    eventually(lambda: len(page.find(".graph .edge")), 66)
    boxes = page.browser.execute_script(
        "return [...document.querySelectorAll('.graph text')].map((each) => {"
        "const {x, y, width, height} = each.getBBox(); return [x, y, x + width, y + height]; })"
    )
    assert boxes
    assert not [
        (one, other)
        for one, other in combinations(boxes, 2)
        if one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
    ]


def test_a_value_between_unknown_ones_is_drawn(page):
    """Lag is measured for some epochs only; each measurement is seen."""
    page.show("state")
    path = page.browser.execute_async_script(
        "const done = arguments[0];"
        "import(location.origin + '/page/spark.js').then(({sparkline}) =>"
        "done(sparkline([null, 1, null, 2, 3], '').querySelector('.line').getAttribute('d')))"
    )
    assert (path.count("M"), path.count("h0.01"), path.count("L")) == (2, 1, 1)


def test_the_profile_says_what_the_time_went_to(page):
    """Steps of the last epoch, or of one that is chosen; and the program in effect."""
    page.link("r1", "r2", "r3")
    page.show("rules")
    eventually(lambda: len(page.find(".profile .legend li")) >= 5, expected=True)
    legend = " ".join(page.texts(".profile .legend li"))
    assert all(step in legend for step in ("read", "decode", "evaluate", "store", "publish"))
    rules = page.texts(".profile table tbody tr")
    assert any("one step" in rule and "reach(?x, ?y) :- link(?x, ?y)" in rule for rule in rules)
    assert any("reach(?x, ?z)" in rule for rule in rules)
    lines = page.texts(".program pre span")
    assert "reach(?x, ?z) :- reach(?x, ?y), link(?y, ?z) ." in lines
    number = lines.index("reach(?x, ?z) :- reach(?x, ?y), link(?y, ?z) .") + 1
    assert any(f"program in effect:{number}" in rule for rule in rules)
    counter = "return getComputedStyle(document.querySelector('.program pre span'), '::before')"
    assert "counter(line)" in page.browser.execute_script(f"{counter}.content")
    page.show("rules?epoch=0")
    eventually(lambda: page.text(".profile p").startswith("Epoch 0 took "), expected=True)


def test_what_cannot_be_read_is_shown_with_its_reason(page):
    """A dead letter, alongside lag, latency and the number of facts."""
    page.show("state")
    page.send([b"<b>rubbish</b>"])
    eventually(lambda: "<b>rubbish</b>" in " ".join(page.texts(".letters td")), expected=True)
    assert "JSON" in " ".join(page.texts(".letters td"))

    def figures():
        return dict(zip(page.texts(".measures b"), page.texts(".measures .value"), strict=True))

    # The lag is asked for along with the epochs.
    eventually(lambda: figures()["Lag"], "0")
    assert figures()["Latency"] != UNKNOWN
    assert len(page.find(".measures svg.spark")) == len(figures())
    assert "link" in page.texts(".counts td")


def test_without_a_pipeline_the_page_says_what_is_missing(page):
    """A server of tables alone has facts and the program, and says why it has no more.

    This one has a login, which the browser sends with all that the page asks.
    """
    user, password = "ann", "secret"
    login = base64.b64encode(f"{user}:{password}".encode()).decode()
    with serving(
        page.case.config.state.tables,
        headers={"Authorization": f"Basic {login}"},
        user=user,
        password=Secret(password),
    ) as port:
        alone = Page(page.browser, port, page.case, None)
        alone.url = f"http://{user}:{password}@127.0.0.1:{port}/"
        alone.show("rules")
        missing = "This server reads tables only, without a pipeline"
        eventually(lambda: missing in alone.text("#view-rules .note"), expected=True)
        assert "reach(?x, ?y) :- link(?x, ?y)" in alone.text(".program pre")
        alone.show("state")
        eventually(lambda: missing in alone.text("#view-state .note"), expected=True)
        assert "link" in alone.texts(".counts td")


def test_the_keyboard_is_enough(page):
    """From the first tab stop to a proof that is opened and closed, with the focus in sight."""
    page.link("k1", "k2", "k3")
    page.show("changes", load=True)
    focus = "return document.activeElement.{}".format
    for expected in ("Changes", "Rules", "Fact"):
        page.press(Keys.TAB)
        assert page.browser.execute_script(focus("innerText")) == expected
    style = "return getComputedStyle(document.activeElement).outlineStyle"
    assert page.browser.execute_script(style) == "solid"
    page.press(Keys.ENTER)
    eventually(lambda: page.browser.execute_script(focus("id")), "title-fact")
    page.press(Keys.TAB)
    page.press(f"reach({term('k1')}, {term('k3')})", Keys.ENTER)
    nodes = ["reach(ex:k1, ex:k3)", "reach(ex:k1, ex:k2)", "link(ex:k2, ex:k3)"]
    eventually(lambda: page.texts(".tree .node"), nodes)
    while page.browser.execute_script(focus("innerText")) != nodes[0]:
        page.press(Keys.TAB)
    page.press(Keys.ARROW_RIGHT)
    page.press(Keys.ARROW_RIGHT)
    assert page.texts(".tree .node") == [*nodes[:2], "link(ex:k1, ex:k2)", nodes[2]]
    page.press(Keys.ARROW_LEFT)
    page.press(Keys.ARROW_LEFT)
    page.press(Keys.ARROW_LEFT)
    assert page.texts(".tree .node") == nodes[:1]


def test_light_and_dark_are_readable_and_the_choice_is_kept(page):
    """As the system has it, or as the reader chose it; text has the contrast that WCAG asks for."""
    page.show("changes", load=True)
    eventually(lambda: bool(page.find("#view-changes td a")), expected=True)
    ground = "return getComputedStyle(document.body).backgroundColor"
    grounds = {}
    for scheme in ("dark", "light"):
        preferred = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
        features = [{"name": name, "value": value} for name, value in preferred.items()]
        page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        grounds[scheme] = page.browser.execute_script(ground)
        for selector in ("body", "#status", "nav a[aria-current]", "td a", "th"):
            assert contrast(page.browser, selector) >= CONTRAST, (scheme, selector)
    assert grounds["dark"] != grounds["light"]
    for theme in ("light", "dark"):
        page.click("#theme")
        assert page.text("#theme") == f"Theme: {theme}"
        page.show("changes", load=True)
        assert page.browser.execute_script(ground) == grounds[theme]
    page.click("#theme")
    assert page.browser.execute_script(ground) == grounds["light"]


def contrast(browser, selector):
    """The ratio of an element's colour to what is behind it (WCAG 2.2, relative luminance)."""
    script = """
        const element = document.querySelector(arguments[0]);
        const behind = [];
        for (let at = element; at; at = at.parentElement) {
            behind.push(getComputedStyle(at).backgroundColor);
        }
        const solid = behind.find((colour) => !/, 0\\)$|transparent/.test(colour));
        const numbers = (text) => text.match(/[\\d.]+/g).map(Number);
        return [getComputedStyle(element).color, solid].map(numbers);
    """
    lighter, darker = sorted(
        map(_luminance, browser.execute_script(script, selector)), reverse=True
    )
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour):
    parts = [each / 255 for each in colour[:3]]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


BROKEN_WORDS = r"""
const found = [];
for (const cell of document.querySelectorAll(".answers td")) {
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        for (const word of texts.currentNode.data.matchAll(/[\p{L}\p{N}_]{1,40}/gu)) {
            const range = document.createRange();
            range.setStart(texts.currentNode, word.index);
            range.setEnd(texts.currentNode, word.index + word[0].length);
            if (new Set([...range.getClientRects()].map((box) => box.top)).size > 1) {
                found.push(word[0]);
            }
        }
    }
}
return found;
"""


def test_a_narrow_screen_is_enough_and_nothing_comes_from_elsewhere(page):
    """No view is wider than the screen, asks another host, or is stopped by the policy."""
    size = {"width": 360, "height": 700, "deviceScaleFactor": 1, "mobile": True}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    requests(page.browser)
    for view in VIEWS:
        page.show(view, load=True)
        width = "return document.scrollingElement.scrollWidth"
        assert page.browser.execute_script(width) <= size["width"], view
    page.link("narrow", "screen")
    wide = "SELECT ?s ?p ?o (?s AS ?a) (?p AS ?b) (?o AS ?c) { ?s ?p ?o } LIMIT 1"
    page.show(f"query?query={quote(wide)}")
    eventually(lambda: len(page.find(".answers tbody td")), 6)
    assert page.browser.execute_script(BROKEN_WORDS) == []
    assert page.browser.execute_script(width) <= size["width"]
    page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    asked = [urlsplit(each) for each in requests(page.browser)]
    assert {f"/page/{view}.js" for view in VIEWS} <= {each.path for each in asked}
    own = urlsplit(page.url).netloc
    assert {each.netloc for each in asked if each.scheme not in ("data", "about")} == {own}
    assert not [each for each in page.browser.get_log("browser") if each["source"] != "network"]
