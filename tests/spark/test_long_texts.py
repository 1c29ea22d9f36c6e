"""Long texts in messages between the processes of a query."""

from __future__ import annotations

from cdckit.engine.spark.long_texts import ReceivedTexts, SentTexts


def test_a_long_text_is_sent_once() -> None:
    sent, received = SentTexts(), ReceivedTexts()
    names = ",".join(f"shop.table_{number}" for number in range(5000))
    first, second = (sent.dumps(("notice", {"names": names, "table": table})) for table in ("a", "b"))
    assert len(second) < 500 < len(names) < len(first)
    found = [received.loads(data) for data in (first, second)]
    assert found == [("notice", {"names": names, "table": table}) for table in ("a", "b")]


def test_texts_beyond_those_that_are_remembered_are_sent_each_time() -> None:
    sent, received = SentTexts(), ReceivedTexts()
    texts = [str(number) * 5000 for number in range(10, 99)]
    for _ in range(2):
        assert [received.loads(sent.dumps(text)) for text in texts] == texts
