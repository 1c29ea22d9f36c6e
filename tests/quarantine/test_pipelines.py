"""Rows that the chain or the serializer fails on: kept, shown, delivered later, and never lost."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cdckit.api.record import POSITION_HEADER
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.config.requirements import beyond_data_source
from quarantine.conftest import CAST, UNWRAP, Shop


def test_what_a_transform_fails_on_is_kept_and_the_rest_goes_on(shop: Shop) -> None:
    shop.insert(_1="10", _2="x", _3="30")
    ended = shop.run()
    assert ended.code == 0, ended.stderr
    assert shop.delivered() == [(1, 10), (3, 30)]
    (kept,) = shop.kept()
    assert (kept["stage"], kept["by"], kept["topic"]) == ("transform", "number", shop.topic)
    assert "amount" in kept["reason"]
    assert ended.stderr.count("a record is kept in quarantine: transform 'number' failed") == 1
    content = shop.content(kept["number"])
    assert content["key"]["payload"] == {"id": 2}
    assert content["value"]["payload"]["after"] == {"id": 2, "amount": "x"}
    _, status, _ = shop.cdc("status")
    assert "1 records in quarantine (cdc quarantine list FILE); in the last run: transform 1" in status


def test_replay_delivers_what_goes_through_today(shop: Shop) -> None:
    shop.insert(_1="10", _2="x", _3="y")
    assert shop.run().code == 0
    code, _, said = shop.cdc("replay")
    assert (code, "delivered 0 records, 2 stay" in said) == (6, True)
    mended = shop.given(transforms=[UNWRAP])
    assert mended.cdc("replay", "--id", str(shop.kept()[0]["number"]))[0] == 0
    assert mended.delivered() == [(1, 10), (2, "x")]
    code, _, said = mended.cdc("replay", "--topic", shop.topic)
    assert (code, "delivered 1 records, 0 stay" in said) == (0, True)
    assert mended.delivered() == [(1, 10), (2, "x"), (3, "y")]
    assert mended.kept() == []
    headers = [header for event in shop.pipeline.events() for header in event["headers"]]
    positions = [header["value"] for header in headers if header["key"] == POSITION_HEADER]
    assert positions == sorted(set(positions))


def test_a_record_is_kept_once_however_often_it_comes(shop: Shop) -> None:
    shop.insert(_1="x", _2="2")
    assert shop.run().code == 0
    shop.insert(_3="y")
    offset = shop.pipeline.offset()
    assert shop.run().code == 0
    (_, before) = kept = shop.kept()
    assert shop.cdc("offsets", "set")[0] == 2  # the command wants an offset
    _set_offset(shop, offset)
    assert shop.run().code == 0
    assert shop.kept() == kept
    assert shop.cdc("quarantine", "drop", str(before["number"]))[0] == 0
    assert [record["number"] for record in shop.kept()] == [kept[0]["number"]]
    assert shop.cdc("quarantine", "drop", str(before["number"]))[0] == 2
    assert shop.cdc("quarantine", "drop")[0] == 2
    assert shop.cdc("quarantine", "drop", "--all")[0] == 0
    assert shop.kept() == []


def _set_offset(shop: Shop, offset: Any) -> None:
    from cdckit.engine.state.sqlite import SqliteStateStore

    state = SqliteStateStore(shop.pipeline.state)
    state.save_offset(offset)
    state.close()


def test_later_changes_of_a_key_pass_unless_they_are_to_wait(shop: Shop) -> None:
    shop.insert(_9="9")
    assert shop.run().code == 0
    shop.insert(_1="x", _2="2")
    shop.run_sql("UPDATE orders SET amount = '1' WHERE id = 1", "UPDATE orders SET amount = '3' WHERE id = 2")
    waits = shop.given(quarantine_later_changes="wait")
    assert waits.run().code == 0
    assert waits.delivered() == [(9, 9), (2, 2), (2, 3)]
    assert [kept["stage"] for kept in waits.kept()] == ["transform", "wait"]
    shop.run_sql("UPDATE orders SET amount = '0' WHERE id = 1")
    assert waits.run().code == 0
    assert [kept["stage"] for kept in waits.kept()] == ["transform", "wait", "wait"]
    code, _, said = waits.cdc("replay")
    assert (code, said.count("an earlier change of its key is in quarantine")) == (6, 2)
    mended = waits.given(transforms=[UNWRAP])
    assert mended.cdc("replay")[0] == 0
    assert mended.delivered()[3:] == [(1, "x"), (1, "1"), (1, "0")]
    shop.insert(_5="z")
    shop.run_sql("UPDATE orders SET amount = '55' WHERE id = 5")
    assert shop.run().code == 0
    assert shop.delivered()[6:] == [(5, 55)]


def test_what_the_serializer_fails_on_is_kept(shop: Shop) -> None:
    shop.run_sql("CREATE TABLE blobs (id INT PRIMARY KEY, b VARBINARY(10))", "INSERT INTO blobs VALUES (1, 'abc')")
    shop.insert(_1="10")
    only_blobs = {"predicates": {"blobs": {"type": "TopicNameMatches", "pattern": ".*blobs"}}}
    extract = {"type": "ExtractField$Value", "field": "b", "predicate": "blobs"}
    chain = [UNWRAP, extract]
    of_bytes = shop.given(serializer={"type": "bytes", "key.type": "json"}, transforms=chain, **only_blobs)
    ended = of_bytes.run()
    assert ended.code == 0, ended.stderr
    assert [event["value"] for event in shop.pipeline.events()] == ["YWJj"]
    (kept,) = of_bytes.kept()
    assert (kept["stage"], kept["by"], kept["topic"]) == ("serialize", "bytes", shop.topic)
    assert shop.cdc("replay")[0] == 0
    assert [event["value"] for event in shop.pipeline.events()][1:] == [{"id": 1, "amount": 10}]


def test_all_leaves_out_and_counts(shop: Shop) -> None:
    shop.insert(_1="10", _2="x", _3="y")
    lax = shop.given(errors_tolerance="all", errors_log_enable=True, errors_log_include_messages=True)
    ended = lax.run()
    assert ended.code == 0, ended.stderr
    assert lax.delivered() == [(1, 10)]
    assert ended.stderr.count("a record is left out: transform 'number' failed") == 2
    assert '"after":{"id":3,"amount":"y"}' in ended.stderr
    _, status, _ = lax.cdc("status")
    assert "left out  2 records that could not be delivered; in the last run: transform 2" in status
    code, _, said = lax.cdc("quarantine", "list")
    assert (code, "--set errors.tolerance=quarantine" in said) == (2, True)


def test_none_stops_at_the_first(shop: Shop) -> None:
    shop.insert(_1="10", _2="x")
    ended = shop.given(errors_tolerance="none").run()
    assert ended.code == 6
    assert "transform 'number' failed" in ended.errors


def test_a_full_quarantine_stops_the_pipeline(shop: Shop) -> None:
    shop.insert(_1="w", _2="x", _3="y", _4="4")
    ended = shop.given(quarantine_max_records=2).run()
    assert ended.code == 6
    assert "the quarantine holds 2 records, and takes no more (quarantine.max.records)" in ended.errors
    ended = shop.run()
    assert ended.code == 0, ended.stderr
    assert len(shop.kept()) == 3
    assert shop.delivered()[-1] == (4, 4)


def test_too_many_of_the_last_records_stop_the_pipeline(shop: Shop) -> None:
    rows = ", ".join(f"({number}, '{number if number % 4 else 'x'}')" for number in range(2_000))
    shop.run_sql(f"INSERT INTO orders VALUES {rows}")
    ended = shop.given(quarantine_max_share=0.2).run()
    assert ended.code == 6
    assert "more than 20% of the last 1,000 records went to the quarantine (quarantine.max.share)" in ended.errors
    assert shop.run().code == 0
    assert len(shop.kept()) == 500


def test_a_damaged_quarantine_names_its_file(shop: Shop) -> None:
    folder = shop.pipeline.state / "quarantine"
    folder.mkdir(parents=True)
    (folder / "quarantine.db").write_bytes(b"x" * 5_000)
    ended = shop.run()
    assert ended.code == 7
    assert "quarantine.db: file is not a database" in ended.errors


@pytest.mark.parametrize("later", ["pass", "wait"])
def test_killed_at_any_instant_every_row_is_delivered_or_kept(shop: Shop, later: str) -> None:
    shop = shop.given(quarantine_later_changes=later, offset_flush_interval_ms=20)
    assert shop.run().code == 0
    written = 3_200
    for start in range(0, written, 800):
        writer = threading.Thread(target=_write, args=(shop, start, start + 800))
        looks = shop.pipeline.offset if start % 1600 else lambda: shop.pipeline.output.stat().st_size
        before = looks()
        with shop.pipeline.running() as process:
            writer.start()
            process.wait_until(lambda looks=looks, before=before: looks() != before)  # type: ignore[misc]
            time.sleep(random.uniform(0, 0.2))
            process.kill()
        writer.join()
    ended = shop.run()
    assert ended.code == 0, ended.stderr
    kept = Counter(shop.kept_ids())
    assert set(kept) == {number for number in range(written) if number % 40 == 7}
    assert set(kept.values()) == {2 if later == "wait" else 1}
    delivered = {number for number, _ in shop.delivered()}
    good = set(range(written)) - set(kept)
    assert delivered == (good if later == "wait" else good | set(kept))
    mended = shop.given(transforms=[UNWRAP])
    assert mended.cdc("replay")[0] == 0
    assert mended.kept() == []
    assert {number for number, _ in mended.delivered()} == set(range(written))
    if later == "wait":
        last: dict[int, Any] = dict(mended.delivered())
        assert {last[number] for number in kept} == {"1"}


def _write(shop: Shop, first: int, end: int) -> None:
    """Rows of which each fortieth is refused, and then mended by a second change."""
    for start in range(first, end, 40):
        values = ", ".join(
            f"({number}, '{'x' if number % 40 == 7 else number}')" for number in range(start, start + 40)
        )
        shop.run_sql(f"INSERT INTO orders VALUES {values}", f"UPDATE orders SET amount = '1' WHERE id = {start + 7}")
        time.sleep(0.01)


def test_options_go_together(shop: Shop, tmp_path: Path) -> None:
    for options, said in (
        ({"errors_tolerance": "all", "quarantine_max_records": 5}, "'quarantine.max.records' needs 'errors.tolerance:"),
        ({"quarantine_max_share": 0}, "quarantine.max.share"),
        ({"errors_deadletterqueue_topic_name": "dlq"}, "quarantine.bootstrap.servers: required with quarantine.topic"),
        ({"quarantine_topic": "t", "quarantine_folder": "f"}, "are two places: keep one"),
        ({"quarantine_timeout_ms": 5000}, "'quarantine.timeout.ms' needs 'quarantine.topic'"),
        ({"runner": "spark", "checkpoint": "elsewhere"}, "quarantine.folder: required with 'checkpoint'"),
    ):
        code, _, errors = shop.given(**options).cdc("run")
        assert code == 2
        assert said in errors
    tables = shop.to({"type": "spark", "path": str(tmp_path / "lake"), "mode": "mirror"}).given(runner="spark")
    code, _, errors = tables.cdc("run")
    said = (
        "errors.tolerance: 'quarantine' passes over records one by one, and the mirrors of 'spark' would not be equal"
    )
    assert (code, said in errors) == (2, True), errors
    (problem,) = beyond_data_source(load_pipeline(shop.pipeline.written()))
    assert problem.startswith("errors.tolerance: 'quarantine' needs a runner")
    elsewhere = shop.given(quarantine_folder=str(tmp_path / "kept"))
    shop.insert(_1="x")
    assert elsewhere.run().code == 0
    assert len(elsewhere.kept()) == 1
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "kept" / "quarantine.db").stat().st_mode & 0o777 == 0o600


def test_the_chain_that_fails_is_named_by_its_own_name(shop: Shop) -> None:
    shop.insert(_1="x")
    assert shop.given(transforms=[UNWRAP, {**CAST, "name": "other"}]).run().code == 0
    assert shop.kept()[0]["by"] == "other"


def test_an_expression_chooses_what_is_listed_replayed_and_dropped(shop: Shop) -> None:
    shop.insert(_1="x", _2="y", _3="z", _4="w")
    assert shop.run().code == 0

    def listed(*options: str) -> list[int]:
        code, out, said = shop.cdc("quarantine", "list", "--json", *options)
        assert code == 0, said
        return [json.loads(line)["number"] for line in out.splitlines()]

    assert listed("--where", "key.id > 2") == [3, 4]
    reason = "value.stage == 'transform' && value.by == 'number' && value.reason.contains('amount')"
    assert listed("--where", reason) == [1, 2, 3, 4]
    assert listed("--where", "value.kept > '2020-01-01' && topic.endsWith('.orders')") == [1, 2, 3, 4]
    assert listed("--stage", "write", "--where", "true") == []
    mended = shop.given(transforms=[UNWRAP])
    assert mended.cdc("replay", "--where", "key.id == 2 || value.number == 3")[0] == 0
    assert mended.delivered() == [(2, "y"), (3, "z")]
    assert mended.cdc("quarantine", "drop", "--where", "key.id == 1")[0] == 0
    assert listed() == [4]
    for wrong, said in (("key.id ==", "--where"), ("value.nothing == 1", "--where: record 4: "), ("1", "--where")):
        code, _, errors = mended.cdc("replay", "--where", wrong)
        assert (code, said in errors) == (2, True), errors
    assert listed() == [4]
