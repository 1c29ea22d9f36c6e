"""The page in a real browser: the fleet, one pipeline, and what changes while one looks."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from cdckit import errors
from testkit.browser import Browser, Page
from testkit.planted import ILL, Planted, planted
from ui.serving import FLEET, TOKEN, Served, names, serving

SHOWN = "document.querySelectorAll('table.fleet tbody tr').length"


def open_fleet(page: Page, served: Served) -> None:
    page.go(served.url)
    page.wait(f"{SHOWN} === {FLEET}")


def test_the_ill_are_first_with_the_remedy_in_their_row(page: Page, served: Served, fleet: Planted) -> None:
    open_fleet(page, served)
    assert list(names(page)[: len(ILL)]) == list(ILL)
    first = page.js("document.querySelectorAll('table.fleet tbody tr')[1].innerText")
    assert "failed" in first
    assert "SourceError: the server has purged binlog.000117" in first
    assert f"cdc validate {fleet.root}/orders-03.yaml --connect" in first
    assert "200 pipelines · 5 ill" in page.text()


def test_a_fleet_is_there_soon(page: Page, served: Served) -> None:
    open_fleet(page, served)
    assert int(page.wait("document.documentElement.dataset.rendered")) < 10_000  # docs/ui.md tells what it takes


def test_grades_and_words_choose(page: Page, served: Served) -> None:
    open_fleet(page, served)
    page.js("document.querySelectorAll('.bar button')[0].click()")
    assert list(names(page)) == list(ILL[:2])
    page.js("document.querySelectorAll('.bar button')[0].click()")
    page.js("search.value = 'STOCK'; search.dispatchEvent(new Event('input'))")
    assert {name.partition("-")[0] for name in names(page)} == {"stock"}
    assert len(names(page)) == FLEET // 10


def test_what_changes_is_seen_without_asking_again(page: Page, tmp_path: Path) -> None:
    with planted(tmp_path / "root") as made, serving(made.root, log=tmp_path / "log") as served:
        for name in ("alpha", "beta"):
            made.running(name)
        page.go(served.url)
        page.wait(f"{SHOWN} === 2")
        page.js("window.mark = 1; document.querySelectorAll('table.fleet td.name a')[1].focus()")
        made.ended("gamma", errors.SinkError("the topic is full"))
        page.wait(f"{SHOWN} === 3")
        assert list(names(page)) == ["gamma", "alpha", "beta"]
        made._running["beta"]._figures.records = 123_456_789
        made.change("beta")
        page.wait("document.body.innerText.includes('123,456,789')")
        assert page.js("document.activeElement.textContent") == "beta"
        assert page.js("window.mark") == 1
        page.leave()


def test_the_page_says_that_it_has_lost_its_server(page: Page, tmp_path: Path) -> None:
    with planted(tmp_path / "root") as made:
        made.running("alpha")
        with serving(made.root, log=tmp_path / "log") as served:
            page.go(served.url)
            page.wait("line.textContent === 'live'")
        page.wait("line.textContent.startsWith('connection lost')")
    page.faults.clear()  # the browser's own words on that


def test_a_pipeline_in_all_that_is_known(page: Page, served: Served, fleet: Planted) -> None:
    page.go(served.at(fleet.folder("inventory-01")))
    page.wait("document.querySelectorAll('.chart canvas').length === 4")
    facts = page.js(
        "Object.fromEntries([...document.querySelectorAll('dl.facts div')].map(each => "
        "[each.firstChild.textContent, each.lastChild.firstChild.textContent]))"
    )
    assert (facts["End to end"], facts["Source lag"], facts["Sink lag"]) == ("430 ms", "412 ms", "18 ms")
    assert (facts["Delivered"], facts["Behind"], facts["To purge"]) == ("4,204,311", "12 kB", "3 days")
    assert facts["CPU"].endswith(" %")
    assert facts["Memory"] == "61 MB"
    text = page.text()
    assert "running, 1 of 3 tables" in text
    assert "2,610,000" in text
    assert "ALTER TABLE `orders` ADD COLUMN `channel` varchar(32) NULL" in text
    assert "127.0.0.1:3306: server has gone away (2006)" in text
    assert '"pos":1988' in text
    assert page.js("uPlot && document.querySelector('.plot').plotted.data[1].filter(each => each > 5000).length") > 5


def test_a_pipeline_that_is_down(page: Page, served: Served, fleet: Planted) -> None:
    page.go(served.at(fleet.folder("orders-03")))
    page.wait("document.querySelector('[role=alert].down')")
    assert "cdc offsets reset FILE" in page.js("document.querySelector('[role=alert]').innerText")
    page.wait("document.querySelector('h1').textContent === 'orders-03'")


def test_tables_that_were_longest_without_a_change_are_first(page: Page, served: Served, fleet: Planted) -> None:
    page.go(served.at(fleet.folder("inventory-01"), "tables"))
    page.wait("document.querySelectorAll('tbody tr').length === 7")
    rows = page.js("[...document.querySelectorAll('tbody tr')].map(tr => [...tr.cells].map(td => td.textContent))")
    assert [row[0] for row in rows][:3] == ["shop.countries", "shop.suppliers", "shop.customers"]
    assert rows[2][2:5] == ["180", "2,204", "12"]
    assert rows[2][6] == "180,204"


def test_what_was_proven(page: Page, served: Served, fleet: Planted) -> None:
    page.go(served.at(fleet.folder("inventory-01"), "proof"))
    page.wait("document.querySelectorAll('tbody tr').length === 3")
    rows = page.js("[...document.querySelectorAll('tbody tr')].map(tr => [...tr.cells].map(td => td.textContent))")
    assert [row[0] for row in rows] == ["shop.orders", "shop.lines", "shop.customers"]
    assert rows[0][1].endswith("unequal")
    assert rows[0][2:6] == ["4,011,202", "3", "0", "1"]
    page.go(served.at(fleet.folder("catalog-02"), "proof"))
    page.wait(f"document.body.innerText.includes('cdc diff {fleet.root}/catalog-02.yaml')")


def test_records_in_quarantine_with_their_reasons(page: Page, served: Served, fleet: Planted) -> None:
    page.go(served.at(fleet.folder("catalog-02"), "quarantine"))
    page.wait("document.querySelectorAll('details').length === 12")
    newest = page.js("document.querySelector('details summary').innerText")
    assert "amount: 'n/a 11' is no int32" in newest
    assert "catalog-02.shop.orders" in newest
    page.js("document.querySelector('details summary').click()")
    content = page.wait("document.querySelector('details pre').textContent.length > 5 && "
                        "document.querySelector('details pre').textContent")  # fmt: skip
    assert '"customer": "Ada Lovelace"' in content


def test_a_record_that_comes_while_one_looks(page: Page, tmp_path: Path) -> None:
    with planted(tmp_path / "root") as made, serving(made.root, log=tmp_path / "log") as served:
        made.running("alpha")
        made.quarantine("alpha", ["first"], {})
        page.go(served.at(made.folder("alpha"), "quarantine"))
        page.wait("document.querySelectorAll('details').length === 1")
        page.js("document.querySelector('details').open = true")
        made.quarantine("alpha", ["second"], {}, first=1)
        page.wait("document.querySelectorAll('details').length === 2")
        shown = page.js("[...document.querySelectorAll('details')].map(each => [each.innerText, each.open])")
        assert ["second" in text for text, _ in shown] == [True, False]
        assert [is_open for _, is_open in shown] == [False, True]
        page.wait("document.querySelector('nav.tabs [aria-current]').textContent === 'Quarantine 2'")
        page.leave()


@pytest.mark.parametrize("tab", ["", "tables", "proof", "quarantine"])
def test_a_phone_shows_all_without_scrolling_sideways(page: Page, served: Served, fleet: Planted, tab: str) -> None:
    page.look(360, 740)
    name = "catalog-02" if tab == "quarantine" else "inventory-01"
    page.go(served.at(fleet.folder(name), tab))
    page.wait("document.querySelector('h1').textContent.length > 1 && document.querySelectorAll('.box').length")
    assert page.js("document.documentElement.scrollWidth") <= 360
    page.go(served.url)
    page.wait(f"{SHOWN} === {FLEET}")
    assert page.js("document.documentElement.scrollWidth") <= 360


def test_all_of_it_by_the_keyboard(page: Page, served: Served) -> None:
    open_fleet(page, served)
    page.press("/")
    assert page.js("document.activeElement.id") == "search"
    page.press("c")
    page.press("r")
    page.press("m")
    page.wait(f"{SHOWN} === 20")
    page.press("Escape")
    page.press("j")
    assert page.js("document.activeElement.textContent") == "crm-02"
    page.press("j")
    page.press("k")
    assert page.js("document.activeElement.textContent") == "crm-02"
    page.press("Enter")
    page.wait("document.querySelector('h1').textContent === 'crm-02'")
    page.press("2")
    page.wait("document.querySelector('nav.tabs [aria-current]').textContent === 'Tables'")
    page.press("?")
    page.wait("keys.open")
    page.press("Escape")
    page.wait("!keys.open")
    page.press("u")
    page.wait(f"document.querySelector('h1').textContent === 'Pipelines' && {SHOWN}")
    open_fleet(page, served)
    page.press("Tab")
    assert page.js("document.activeElement.className") == "skip"
    page.press("Enter")
    assert page.js("document.activeElement.id") == "main"


CONTRAST = """(() => {
  const parts = text => text.match(/[\\d.]+/g).map(Number);
  const linear = v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => [r, g, b].map(v => linear(v / 255))
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const ground = each => {
    for (let at = each; at; at = at.parentElement) {
      const found = parts(getComputedStyle(at).backgroundColor);
      if (found.length < 4 || found[3] === 1) return found;
    }
    return [255, 255, 255];
  };
  const poor = new Set();
  for (const each of document.querySelectorAll("body *")) {
    const says = [...each.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
    if (!says || !each.getClientRects().length) continue;
    const [a, b] = [light(parts(getComputedStyle(each).color)), light(ground(each))].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    const where = `${each.tagName}.${each.className} ${each.textContent.slice(0, 30)}`;
    if (ratio < 4.5) poor.add(`${where}: ${ratio.toFixed(2)}`);
  }
  return [...poor];
})()"""


@pytest.mark.parametrize("dark", [False, True])
def test_each_word_can_be_read(page: Page, served: Served, fleet: Planted, dark: bool) -> None:
    page.look(1280, 800, dark=dark)
    open_fleet(page, served)
    red, *_ = page.js("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert (red < 60) is dark
    assert page.js(CONTRAST) == []
    page.go(served.at(fleet.folder("inventory-01")))
    page.wait("document.querySelectorAll('.chart canvas').length === 4")
    assert page.js(CONTRAST) == []


def test_what_a_screen_reader_is_told(page: Page, served: Served, fleet: Planted) -> None:
    for url in (served.url, served.at(fleet.folder("inventory-01")), served.at(fleet.folder("inventory-01"), "tables")):
        page.go(url)
        page.wait("document.querySelectorAll('tbody tr').length > 1")
        page.call("Accessibility.enable")
        nodes = page.call("Accessibility.getFullAXTree")["nodes"]
        told = [node for node in nodes if not node["ignored"]]
        roles = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in told]
        nameless = [role for role, name in roles if role in ("button", "link", "img", "image", "table") and not name]
        assert nameless == []
        assert {"main", "banner", "table", "columnheader", "heading"} <= {role for role, _ in roles}
        assert page.js("document.querySelectorAll('h1').length") == 1
        levels = page.js("[...document.querySelectorAll('h1, h2, h3')].map(each => Number(each.tagName[1]))")
        assert all(after - before <= 1 for before, after in pairwise(levels))


def test_two_look_at_once(browser: Browser, page: Page, served: Served) -> None:
    other = browser.page()
    for each in (page, other):
        open_fleet(each, served)
    other.close()


def test_acting_needs_the_token_and_a_reason_stands_where_it_cannot_be(page: Page, tmp_path: Path) -> None:
    with (
        planted(tmp_path / "root") as made,
        serving(made.root, "--allow-actions", log=tmp_path / "log", variables={"CDC_UI_TOKEN": TOKEN}) as served,
    ):
        made.running("alpha")
        page.go(served.at(made.folder("alpha")))
        page.wait("document.getElementById('token')")
        assert "alpha" not in page.text()
        for given, ready in ((f"{TOKEN}x", "location.pathname === '/login'"), (TOKEN, f"{SHOWN} === 1")):
            page.js(f"document.getElementById('token').value = '{given}'; document.forms[0].submit()")
            page.wait(ready)
            page.wait("document.readyState === 'complete'")
        page.faults.clear()  # the browser's words on what was refused
        page.js("document.querySelector('td.name a').click()")
        page.wait("document.querySelectorAll('.acts button').length === 6")
        actions = "[...document.querySelectorAll('.acts > div')]"
        why = "each.firstChild.getAttribute('aria-disabled') ? each.lastChild.textContent : ''"
        greyed = page.js(f"Object.fromEntries({actions}.map(each => [each.firstChild.dataset.action, {why}]))")
        assert greyed == {
            "pause": "no incremental snapshot runs",
            "resume": "no incremental snapshot is paused",
            "stop": "no incremental snapshot runs",
            "resnapshot": "",
            "signal": "",
            "replay": "its quarantine is empty",
        }
        page.js("document.querySelector('[data-action=replay]').click()")
        assert page.js("document.querySelector('dialog[open]')") is None
        page.js("document.querySelector('[data-action=resnapshot]').click()")
        page.wait("document.querySelector('dialog[open] textarea')")
        page.js("document.querySelector('dialog[open] textarea').value = 'shop.orders shop.lines'")
        page.js("document.querySelector('dialog[open] form').requestSubmit()")
        page.wait(
            "document.querySelector('dialog[open] [role=status]').textContent.includes('takes it within seconds')"
        )
        (left,) = (made.folder("alpha") / "signals").glob("*.json")
        told = json.loads(left.read_text())
        assert (told["type"], told["data"]["data-collections"]) == ("execute-snapshot", ["shop.orders", "shop.lines"])
        page.leave()


def test_a_page_that_only_looks_has_no_buttons(page: Page, served: Served, fleet: Planted) -> None:
    page.go(served.at(fleet.folder("inventory-01")))
    page.wait("document.querySelectorAll('.chart canvas').length === 4")
    assert page.js("document.querySelectorAll('.acts').length") == 0
