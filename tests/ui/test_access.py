"""Who may look at the page, and who may act by it."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

import pytest

from cdckit.cli.main import call
from cdckit.engine.metrics.address import ListenAddress
from cdckit.ui.access import Access, host_of, is_this_machine
from cdckit.ui.fleet import identify
from testkit.planted import Planted, planted
from ui.serving import TOKEN, Served, serving


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: str


def ask(
    served: Served, path: str, method: str = "GET", body: str | None = None, host: str | None = None, **headers: str
) -> Answer:
    """Asks the page's server; underscores in names of headers stand for dashes."""
    address = urlsplit(served.url).netloc
    connection = http.client.HTTPConnection(address, timeout=60)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, {**named, "Host": host or address})
    answer = connection.getresponse()
    found = Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read().decode())
    connection.close()
    return found


@pytest.fixture(scope="module")
def pipelines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planted]:
    """One that runs, one that has failed with records in quarantine, one that was started with options."""
    with planted(tmp_path_factory.mktemp("pipelines")) as made:
        made.running("alpha")
        made.ended("beta", RuntimeError("out of luck"))
        made.quarantine("beta", ["too long"], {})
        made.ended("gamma")
        made.quarantine("gamma", ["too long"], {})
        made.rewritten("gamma", lambda status: status.update(as_written=False))
        yield made


@pytest.fixture(scope="module")
def plain(pipelines: Planted, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Without a token."""
    with serving(pipelines.root, log=tmp_path_factory.mktemp("plain") / "log") as page:
        yield page


@pytest.fixture(scope="module")
def guarded(pipelines: Planted, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """With a token, and actions."""
    log = tmp_path_factory.mktemp("guarded") / "log"
    with serving(pipelines.root, "--allow-actions", log=log, variables={"CDC_UI_TOKEN": TOKEN}) as page:
        yield page
    assert TOKEN not in log.read_text()


def login(served: Served) -> str:
    """The cookie that the token gives."""
    form = urlencode({"token": TOKEN})
    answer = ask(served, "/login", "POST", form, Content_Type="application/x-www-form-urlencoded")
    assert (answer.status, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert TOKEN not in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    return cookie.partition(";")[0]


def action(pipelines: Planted, name: str, what: str) -> str:
    return f"/api/pipelines/{identify(pipelines.folder(name).resolve())}/actions/{what}"


def seal_of(served: Served, cookie: str) -> str:
    """What the page has to send with an action."""
    text = ask(served, "/", Cookie=cookie).body
    session = text.partition('id="session">')[2].partition("</script>")[0]
    seal: str = json.loads(session)["seal"]
    return seal


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--address", "0.0.0.0:0"), "can be reached from other machines: choose a token"),
        (("--allow-actions",), "whoever reaches the page could act: choose a token"),
        (("--address", "nonsense"), "should be HOST:PORT"),
        (("--token-file", "missing"), "missing cannot be read"),
    ],
)
def test_what_is_refused_at_the_start(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    command = [sys.executable, "-m", "cdckit", "ui", str(tmp_path), *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_short_token_is_refused_and_not_shown(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("s3cr3t\n")
    command = [sys.executable, "-m", "cdckit", "ui", str(tmp_path), "--token-file", str(tmp_path / "token")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "should have 16 characters or more" in done.stderr
    assert "s3cr3t" not in done.stderr + done.stdout


def test_without_a_token_this_machine_looks_and_nobody_acts(plain: Served, pipelines: Planted) -> None:
    assert [row["name"] for row in json.loads(ask(plain, "/api/fleet").body)] == ["beta", "gamma", "alpha"]
    answer = ask(plain, action(pipelines, "alpha", "signal"), "POST", '{"type": "log"}')
    assert (answer.status, json.loads(answer.body)["error"]) == (403, "actions need --allow-actions")


def test_another_name_for_this_machine_is_not_answered(plain: Served) -> None:
    for path in ("/", "/api/fleet", "/api/events"):
        assert ask(plain, path, host="attacker.example").status == 421
    assert ask(plain, "/api/fleet", host="localhost:1").status == 200


def test_nothing_but_the_page_is_served(plain: Served, pipelines: Planted) -> None:
    for path in ("/vendor/..%2fpage.html", "/vendor/page.html", "/static", "/api/pipelines/0", "/docs", "/login.html"):
        assert ask(plain, path).status in (404, 405), path
    assert ask(plain, "/", "POST").status == 405
    headers = ask(plain, "/").headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["cache-control"] == "no-store"
    assert "server" not in headers


def test_looking_changes_no_file(plain: Served, pipelines: Planted) -> None:
    def files() -> dict[Path, tuple[int, int]]:
        return {
            path: (path.stat().st_mtime_ns, path.stat().st_size)
            for path in pipelines.root.rglob("*")
            if path.is_file() and not path.name.endswith("-shm")  # SQLite's, which readers share
        }

    before = files()
    for row in json.loads(ask(plain, "/api/fleet").body):
        for path in ("", "/quarantine", "/quarantine/1"):
            ask(plain, f"/api/pipelines/{row['id']}{path}")
    assert files() == before


def test_the_token_is_asked_for(guarded: Served) -> None:
    assert ask(guarded, "/").status == 401
    assert "beta" not in ask(guarded, "/").body
    for path in ("/api/fleet", "/api/events", "/vendor/uPlot.min.css"):
        assert ask(guarded, path).status == 401, path
        assert ask(guarded, path, Authorization=f"Bearer {TOKEN}x").status == 401, path
        assert ask(guarded, path, Cookie="cdc_ui_0=0").status == 401, path
    assert ask(guarded, "/api/fleet", Authorization=f"Bearer {TOKEN}").status == 200
    assert ask(guarded, f"/api/fleet?token={TOKEN}").status == 401
    wrong = ask(guarded, "/login", "POST", urlencode({"token": f"{TOKEN}x"}))
    assert (wrong.status, wrong.headers.get("set-cookie")) == (403, None)
    assert ask(guarded, "/api/fleet", Cookie=login(guarded)).status == 200


def test_only_the_page_itself_acts(guarded: Served, pipelines: Planted) -> None:
    cookie = login(guarded)
    seal, path, own = seal_of(guarded, cookie), action(pipelines, "alpha", "signal"), guarded.url.rstrip("/")
    body = '{"type": "log", "data": {"message": "hello"}}'
    signals = pipelines.folder("alpha") / "signals"
    for headers in (
        {"Cookie": cookie},
        {"Cookie": cookie, "Origin": own},
        {"Cookie": cookie, "X_CDC_Seal": seal},
        {"Cookie": cookie, "X_CDC_Seal": seal, "Origin": "https://attacker.example"},
        {"Cookie": cookie, "X_CDC_Seal": f"{seal}0", "Origin": own},
    ):
        assert ask(guarded, path, "POST", body, **headers).status == 403, headers
    assert ask(guarded, path, "POST", body, X_CDC_Seal=seal, Origin=own).status == 401
    assert ask(guarded, path, Cookie=cookie).status == 405
    assert not signals.exists()
    done = ask(guarded, path, "POST", body, Cookie=cookie, X_CDC_Seal=seal, Origin=own)
    assert done.status == 200
    assert "signal log is left as" in json.loads(done.body)["said"]
    (left,) = signals.glob("*.json")
    assert json.loads(left.read_text())["data"] == {"message": "hello"}


@pytest.mark.parametrize(
    ("name", "what", "body", "said"),
    [
        ("alpha", "dance", {}, "no action is called 'dance': there are pause, resume, stop"),
        ("alpha", "pause", {}, "no incremental snapshot runs"),
        ("alpha", "replay", {}, "its quarantine is empty"),
        ("alpha", "signal", {"type": "explode"}, "no signal is called 'explode' (there are: execute-snapshot"),
        ("alpha", "signal", {"type": "log", "data": "{"}, "data: no JSON"),
        ("alpha", "resnapshot", {}, "tables: should be a list of 1 to 500 names"),
        ("alpha", "resnapshot", {"tables": ["--set=x=y"]}, "is no name of a table"),
        ("beta", "signal", {"type": "log"}, "it does not run"),
        ("beta", "replay", {"numbers": ["--id"]}, "beta.yaml is not there"),
        ("gamma", "replay", {}, "its last run had options on the command line"),
    ],
)
def test_what_cannot_be_done_is_told(
    guarded: Served, pipelines: Planted, name: str, what: str, body: dict[str, object], said: str
) -> None:
    path = action(pipelines, name, what)
    answer = ask(guarded, path, "POST", json.dumps(body), Authorization=f"Bearer {TOKEN}")
    assert answer.status == 400
    assert said in json.loads(answer.body)["error"]


def test_a_body_that_is_no_json(guarded: Served, pipelines: Planted) -> None:
    path = action(pipelines, "alpha", "signal")
    for body in ("{", "[]", "x" * 200_000):
        assert ask(guarded, path, "POST", body, Authorization=f"Bearer {TOKEN}").status == 400


def test_the_token_is_not_shown_by_what_holds_it() -> None:
    access = Access(ListenAddress("127.0.0.1", 1), TOKEN, acts=True)
    assert TOKEN not in repr(access) + access.session + access.seal
    assert Access(ListenAddress("127.0.0.1", 1), TOKEN, acts=True).session != access.session


LOCAL = ("127.0.0.1", "127.9.9.9", "::1", "localhost")


@pytest.mark.parametrize("host", [*LOCAL, "0.0.0.0", "::", "db.example"])
def test_which_addresses_are_this_machine_s(host: str) -> None:
    assert is_this_machine(host) is (host in LOCAL)


@pytest.mark.parametrize(("header", "host"), [("a:1", "a"), ("a", "a"), ("[::1]:8", "::1"), ("", "")])
def test_the_host_in_a_header(header: str, host: str) -> None:
    assert host_of(header) == host


def test_a_signal_ends_it_though_somebody_listens(pipelines: Planted, tmp_path: Path) -> None:
    for number, code in ((signal.SIGTERM, 0), (signal.SIGINT, 130)):
        with serving(pipelines.root, log=tmp_path / "log") as served:
            connection = http.client.HTTPConnection(urlsplit(served.url).netloc, timeout=60)
            connection.request("GET", "/api/events")
            listening = connection.getresponse()
            assert listening.readline() == b"event: fleet\n"
            served.process.send_signal(number)
            assert served.process.wait(60) == code
            connection.close()
        assert (tmp_path / "log").read_text() == ""


def test_without_its_packages_it_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "cdckit.ui.serving", raising=False)
    assert call(["ui", str(tmp_path)]) == 2
    assert "needs the package uvicorn: pip install 'cdckit[ui]'" in capfd.readouterr().err
