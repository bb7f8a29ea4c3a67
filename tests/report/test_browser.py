"""The page in a real browser: it loads quietly, its controls work, and names stay text."""

import base64
import json
import re

import pytest

from tests.report.browser import MISSING, chromium, set_scheme, set_width
from tests.report.contrast import contrast
from tests.report.generated import Shape, write_run
from vidc.eval.report import write

pytestmark = pytest.mark.skipif(MISSING is not None, reason=str(MISSING))

EVIL = "<script>alert(1)</script>"
PLAIN = Shape(
    videos=24, frames=900, datasets=("imagenet-vid-c",), corruptions=("clean", "rain", "snow")
)
NASTY = Shape(
    name=EVIL,
    datasets=(EVIL,),
    corruptions=("snow",),
    videos=20,
    frames=400,
    classes=(EVIL, f"'\"{EVIL}", f"</script>{EVIL}", "<img src=x onerror=alert(2)>"),
    video_name=EVIL + "{}",
    columns=("source", "unmix_tns", f"mine.py:{EVIL}@bn"),
)
SHUFFLED = Shape(
    name="shuffled",
    order="shuffled",
    videos=24,
    frames=900,
    datasets=("imagenet-vid-c",),
    corruptions=("rain", "snow"),
    columns=("source", "unmix_tns"),
)


SHORT = Shape(
    name="short",
    videos=3,
    frames=40,
    datasets=("imagenet-vid-c", "lasot-c"),
    corruptions=("rain",),
    columns=("source", "unmix_tns"),
)
A4 = 718  # CSS pixels between the margins of a sheet


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The generated runs, by name."""
    root = tmp_path_factory.mktemp("runs")
    shapes = {"plain": PLAIN, "nasty": NASTY, "shuffled": SHUFFLED, "short": SHORT}
    return {name: write_run(root / name, shape) for name, shape in shapes.items()}


@pytest.fixture(scope="module")
def pages(folders, tmp_path_factory):
    """The addresses of a plain page, a page of nasty names, and one of two runs."""
    root = tmp_path_factory.mktemp("pages")
    sets = {
        "plain": ["plain"],
        "nasty": ["nasty"],
        "two": ["plain", "shuffled"],
        "mixed": ["short", "plain", "shuffled"],
    }
    return {
        name: write([folders[of] for of in which], root / name, figures=False).as_uri()
        for name, which in sets.items()
    }


@pytest.fixture
def open_page(browser, pages):
    def open_one(name):
        set_width(browser, 1280)
        set_scheme(browser, "light")
        browser.get_log("browser")
        browser.get_log("performance")
        browser.get(pages[name])
        return browser

    return open_one


def wait_for(condition):
    """What the browser does a moment after it was asked; fails where it never does."""
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(None, 30, 0.05).until(lambda _: condition())


def find(driver, selector):
    return driver.find_elements("css selector", selector)


def texts(driver, selector):
    return [element.text.strip() for element in find(driver, selector)]


def requests_of(driver):
    """Every address that the page has asked for since it was opened."""
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    return [
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    ]


def use_everything(driver):
    """Press every control, as many as there are when its turn comes, and move over every chart."""
    driver.execute_script(
        """for (const kind of [".toggle", ".toggle", ".step", ".modes input", ".more", "summary",
            "th button"]) {
          for (const one of document.querySelectorAll(kind)) one.click();
        }"""
    )
    for chart in find(driver, ".plot svg"):
        move_over(driver, chart, 0.5)


def move_over(driver, chart, share):
    """Move the pointer to a share of the chart's width."""
    driver.execute_script(
        """const box = arguments[0].getBoundingClientRect();
        arguments[0].dispatchEvent(new PointerEvent("pointermove", {
          clientX: box.left + box.width * arguments[1], clientY: box.top + 50, bubbles: true}));""",
        chart,
        share,
    )


@pytest.mark.parametrize("name", ["plain", "nasty", "two"])
def test_it_loads_and_works_without_a_word_in_the_console_or_a_request(open_page, pages, name):
    driver = open_page(name)
    use_everything(driver)
    assert driver.get_log("browser") == []
    asked = requests_of(driver)
    assert pages[name] in asked
    assert [url for url in asked if url != pages[name] and not url.startswith("data:")] == []


def test_the_policy_stops_what_is_not_ours(open_page):
    driver = open_page("plain")
    driver.execute_script(
        """const one = document.createElement("script");
        one.textContent = "window.ran = true"; document.body.append(one);
        const two = document.createElement("img");
        two.src = "https://example.org/x.png"; document.body.append(two);"""
    )
    assert driver.execute_script("return window.ran") is None
    refused = []

    def both_refused():
        refused.extend(entry["message"] for entry in driver.get_log("browser"))
        return len(refused) >= 2

    wait_for(both_refused)
    assert all("Content Security Policy" in message for message in refused)


def test_names_stay_text(open_page):
    driver = open_page("nasty")
    use_everything(driver)
    assert driver.execute_script("return document.scripts.length") == 2
    assert driver.execute_script("return document.images.length") == 0
    assert EVIL in texts(driver, "h1")[0]
    assert any(text.startswith(EVIL) for text in texts(driver, "#videos tbody th"))
    move_over(driver, find(driver, "#stream .plot svg")[0], 0.5)
    assert texts(driver, "#stream .tip strong")[0].startswith(EVIL)


def rows(driver, selector, place):
    """The texts of a place of each row that is shown."""
    return driver.execute_script(
        """return [...document.querySelectorAll(arguments[0])].filter((row) => !row.hidden)
        .map((row) => row.children[arguments[1]].dataset.value);""",
        selector,
        place,
    )


def test_a_heading_sorts_up_then_down_then_back(open_page):
    driver = open_page("plain")
    selector = "table.errors tbody tr:not(.group):not(.mean)"
    first = rows(driver, selector, 4)
    heading = find(driver, "table.errors thead th")[4]
    button = heading.find_element("css selector", "button")
    orders = []
    for expected in ("ascending", "descending", "none"):
        button.click()
        assert heading.get_attribute("aria-sort") == expected
        orders.append([float(value) for value in rows(driver, selector, 4)])
    assert orders[0] == sorted(map(float, first))
    assert orders[1] == sorted(map(float, first), reverse=True)
    assert orders[2] == [float(value) for value in first]
    assert texts(driver, "table.errors tbody tr:last-child th") == ["Mean"]


def test_the_matrix_sorts_by_name_and_by_number_and_unfolds(open_page):
    driver = open_page("plain")
    shown = "#videos tbody tr"
    assert len(rows(driver, shown, 0)) == 15
    spreads = [float(value) for value in rows(driver, shown, 11)]
    assert spreads == sorted(spreads, reverse=True)
    find(driver, "#videos .more")[0].click()
    assert len(rows(driver, shown, 0)) == 24
    find(driver, "#videos thead button")[0].click()
    assert rows(driver, shown, 0) == sorted(rows(driver, shown, 0))
    find(driver, "#videos thead button")[3].click()
    errors = [float(value) for value in rows(driver, shown, 3)]
    assert errors == sorted(errors)


def test_the_matrix_prints_the_decimals_of_the_results(open_page, folders):
    driver = open_page("plain")
    find(driver, "#videos .more")[0].click()
    results = json.loads((folders["plain"] / "results.json").read_text())
    cell = next(cell for cell in results["cells"] if cell["corruption"] == "rain")
    read = """return [...document.querySelectorAll(arguments[0])].map((row) =>
        [...row.children].map((one) => one.textContent));"""
    for kind, before in (("classes", 2), ("videos", 3)):
        shown = driver.execute_script(read, f"#{kind} tbody tr")
        assert len(shown) == len(cell["columns"]["source"][kind])
        for name, *texts_of_row in shown:
            errors = [scores[kind][name]["error"] for scores in cell["columns"].values()]
            assert [re.match(r"[\d.]+", text)[0] for text in texts_of_row[before - 1 : -1]] == [
                f"{error:.1f}" for error in errors
            ]


def test_a_quarter_is_rounded_as_the_table_rounds_it(open_page):
    driver = open_page("plain")
    values = [n / 400 * 100 for n in range(401)]  # 0.25, 0.5, 0.75, ...: every tie there is
    shown = driver.execute_script("return arguments[0].map(percent)", values)
    assert shown == [f"{value:.1f}" for value in values]


def test_columns_are_switched_off_and_on(open_page):
    driver = open_page("plain")
    tbn = find(driver, ".toggle")[1]
    assert len(find(driver, "#stream path.line.column-1")) == 1
    assert len(find(driver, "#reliability .plot")) == 8
    tbn.click()
    assert tbn.get_attribute("aria-pressed") == "false"
    assert find(driver, "#stream path.line.column-1, #since path.line.column-1") == []
    assert len(find(driver, "#reliability .plot")) == 7
    assert "TBN" not in texts(driver, "#classes thead th")
    tbn.click()
    assert len(find(driver, "#stream path.line.column-1")) == 1
    for toggle in find(driver, ".toggle"):
        toggle.click()
    assert find(driver, "#stream path.line.column-0") == []
    assert driver.get_log("browser") == []


def test_the_matrix_follows_the_columns_that_are_on(open_page):
    driver = open_page("plain")
    for toggle in find(driver, ".toggle")[4:]:
        toggle.click()
    for toggle in find(driver, ".toggle")[1:3]:
        toggle.click()
    assert texts(driver, "#classes thead th button span") == [
        *("Class", "Frames", "Source", "UnMix-TNS", "Spread")
    ]
    pairs = zip(
        rows(driver, "#classes tbody tr", 2), rows(driver, "#classes tbody tr", 3), strict=True
    )
    spreads = [abs(float(one) - float(other)) for one, other in pairs]
    assert spreads == sorted(spreads, reverse=True)


def test_turning_to_another_corruption_changes_every_part(open_page):
    driver = open_page("plain")
    chosen = driver.execute_script("return document.querySelector('#view').selectedOptions[0].text")
    assert chosen == "Rain"  # not clean
    line = find(driver, "#stream path.line.column-0")[0].get_attribute("d")
    first = texts(driver, "#frames [data-view]:not([hidden]) .counts dd")
    driver.find_element("css selector", ".step[data-step='1']").click()
    assert find(driver, "#stream path.line.column-0")[0].get_attribute("d") != line
    assert texts(driver, "#frames [data-view]:not([hidden]) .counts dd") != first
    assert len(find(driver, "#frames [data-view]:not([hidden])")) == 1


def test_pointing_at_the_stream_tells_video_class_and_errors(open_page):
    driver = open_page("plain")
    chart = find(driver, "#stream .plot svg")[0]
    move_over(driver, chart, 0.5)
    (tip,) = find(driver, "#stream .tip")
    assert tip.is_displayed()
    assert re.match(r"val_\d{5}\nclass \w+\nframe \d+ of 900\n", tip.text)
    errors = [float(text) for text in re.findall(r"([\d.]+) %", tip.text)]
    assert len(errors) == 8
    assert errors == sorted(errors)


def test_the_keyboard_moves_through_the_stream(open_page):
    from selenium.webdriver.common.keys import Keys

    driver = open_page("plain")
    chart = find(driver, "#stream .plot svg")[0]
    assert chart.get_attribute("role") == "slider"
    driver.execute_script("arguments[0].focus()", chart)
    body = driver.switch_to.active_element
    body.send_keys(Keys.HOME)
    assert chart.get_attribute("aria-valuenow") == "0"
    # A curve has 360 points, so that the first is at 900 // 360.
    assert "frame 2 of 900" in chart.get_attribute("aria-valuetext")
    body.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert chart.get_attribute("aria-valuenow") == "2"
    body.send_keys(Keys.END)
    assert "frame 900 of 900" in chart.get_attribute("aria-valuetext")
    assert find(driver, "#stream .tip")[0].is_displayed()
    body.send_keys(Keys.ESCAPE)
    assert not find(driver, "#stream .tip")[0].is_displayed()


def test_everything_that_can_be_pressed_has_a_name(open_page):
    driver = open_page("plain")
    nameless = driver.execute_script(
        """return [...document.querySelectorAll("button, select, input, [tabindex], a")]
        .filter((one) => !(one.textContent.trim() || one.getAttribute("aria-label")
          || one.getAttribute("aria-labelledby") || one.labels?.length))
        .map((one) => one.outerHTML.slice(0, 200));"""
    )
    assert nameless == []
    assert driver.execute_script("return document.documentElement.lang") == "en"
    # A chart's numbers are there as a table too.
    find(driver, "#since summary")[0].click()
    wait_for(lambda: "TBN" in texts(driver, "#since .numbers thead th"))


def error_ticks(panel):
    """The ticks of a chart's error axis, which come before the other axis's and end in percent."""
    found = panel.find_elements("css selector", "text.tick[text-anchor=end]")
    ticks = [tick.text for tick in found]
    top = next(place for place, text in enumerate(ticks) if text.endswith(" %"))
    return ticks[: top + 1]


def test_two_runs_have_a_panel_each(open_page):
    driver = open_page("two")
    assert driver.execute_script("return document.title").startswith("2 runs side by side")
    assert len(find(driver, "table.errors tbody tr:not(.group)")) == 4 + 3
    assert texts(driver, "#stream .panel h3") == ["generated", "shuffled"]
    for panel, lines in zip(find(driver, "#stream .panel"), (8, 2), strict=True):
        assert len(panel.find_elements("css selector", "path.line[class*=column]")) == lines
    # One scale for both, or the eye compares what cannot be compared.
    one, other = (error_ticks(panel) for panel in find(driver, "#since .panel"))
    assert one == other
    # Stripes are videos: a shuffled stream has none to show.
    assert [
        len(panel.find_elements("css selector", ".stripe"))
        for panel in find(driver, "#stream .panel")
    ] == [24, 0]


def test_the_dataset_of_the_charts_is_always_to_be_seen(open_page):
    driver = open_page("mixed")
    (shown,) = find(driver, "#dataset")
    listed, chosen = driver.execute_script(
        "const view = document.querySelector('#view');"
        "const told = (one) => [one.text.toLowerCase(), one.parentElement.label];"
        "return [[...view.options].map(told), view.selectedIndex]"
    )
    assert {dataset for _, dataset in listed[chosen:]} == {"imagenet-vid-c", "lasot-c"}
    for label, dataset in listed[chosen:]:
        selected = driver.execute_script(
            "return document.querySelector('#view').selectedOptions[0].text.toLowerCase()"
        )
        assert selected == label
        assert (shown.is_displayed(), shown.text) == (True, dataset)
        find(driver, ".step")[1].click()
    assert find(open_page("plain"), "#dataset") == []


def test_what_is_said_of_the_stream_holds_for_every_run(open_page):
    driver = open_page("mixed")
    (about,) = find(driver, "[data-about=stream]")
    assert "shuffled: The videos change too often to be marked." in about.text
    find(driver, ".modes input")[1].click()
    assert "short: The error of the last 40 frames." in about.text
    assert "generated: The error of the last 64 frames." in about.text
    driver = open_page("plain")
    find(driver, ".modes input")[1].click()
    assert texts(driver, "[data-about=stream]")[0].startswith("The error of the last 64 frames.")


def test_the_lowest_is_marked_for_those_who_do_not_see_it(open_page):
    driver = open_page("plain")
    marked = driver.execute_script(
        """return [...document.querySelectorAll("#classes tbody tr")].map((row) =>
        [...row.children].slice(2, -1).map((one) => one.textContent));"""
    )
    for row in marked:
        errors = [float(text.split()[0]) for text in row]
        said = [error for error, text in zip(errors, row, strict=True) if "lowest" in text]
        assert said or len(set(errors)) == 1
        assert set(said) <= {min(errors)}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_names_of_the_lines_can_be_read(open_page, scheme):
    driver = open_page("plain")
    set_scheme(driver, scheme)
    fills = driver.execute_script(
        """return [...document.querySelectorAll("#stream .name")]
        .map((one) => getComputedStyle(one).fill);"""
    )
    paper = driver.execute_script(
        "return getComputedStyle(document.querySelector('section')).backgroundColor"
    )
    ground = [int(channel) / 255 for channel in re.findall(r"\d+", paper)[:3]]
    assert len(fills) == 8
    for fill in fills:
        numbers = [float(number) for number in re.findall(r"[\d.]+", fill)[:3]]
        channels = [n / 255 for n in numbers] if fill.startswith("rgb") else numbers
        assert contrast(channels, ground) >= 4.5  # what WCAG asks of text


@pytest.mark.parametrize(("scheme", "least", "most"), [("light", 200, 255), ("dark", 0, 60)])
def test_light_and_dark_follow_the_readers_choice(open_page, scheme, least, most):
    driver = open_page("plain")
    set_scheme(driver, scheme)
    ground = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
    for channel in re.findall(r"\d+", ground)[:3]:
        assert least <= int(channel) <= most


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_no_width_makes_the_page_scroll_sideways(open_page, width):
    driver = open_page("plain")
    set_width(driver, width)
    wide = "return document.documentElement.scrollWidth"
    wait_for(lambda: driver.execute_script(wide) <= width)


def test_paper_cuts_no_table_off(open_page):
    driver = open_page("two")
    set_width(driver, A4)
    on_paper = "return [innerWidth, matchMedia('print').matches]"
    try:
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        wait_for(lambda: driver.execute_script(on_paper) == [A4, True])
        cut = driver.execute_script(
            """return [...document.querySelectorAll("table")]
            .filter((one) => one.getBoundingClientRect().right > document.body.clientWidth + 1)
            .map((one) => one.className);"""
        )
    finally:
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert cut == []


def test_it_prints(open_page):
    driver = open_page("plain")
    printed = driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    pdf = base64.b64decode(printed["data"])
    assert pdf.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) > 1  # a page with nothing on it is one sheet
