"""Sound components, and twins of them with one fault each, which the suites must find."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import ConfigDict

from cdckit.api.batch import Batch
from cdckit.api.group import Group
from cdckit.api.messages import Messages
from cdckit.api.plugin_config import PluginConfig
from cdckit.api.record import Offset, Record, SchemaAndValue
from cdckit.api.serializer import Serializer
from cdckit.api.sink import SinkContext
from cdckit.api.source import Source, SourceContext, Split
from cdckit.api.source_config import SourceConfig
from cdckit.api.struct import TemplateStruct
from cdckit.api.transform import Predicate, Sought, Transform
from cdckit.engine.serializers.json import JsonSerializer
from cdckit_file.file import FileSink


class Nothing(PluginConfig):
    """Nothing to set."""


class Silent(PluginConfig):
    """An option without a description."""

    some_option: int = 1


class Lenient(PluginConfig):
    """Takes whatever it is given."""

    model_config = ConfigDict(extra="allow")

    @classmethod
    def load(cls, *given: Any, **others: Any) -> Any:
        return cls(), []


class Unsent(PluginConfig):
    """Stays in its process."""

    def __reduce__(self) -> Any:
        raise TypeError("it holds a connection")


class SoundTransform(Transform):
    def __init__(self, config: PluginConfig) -> None:
        self.seen = 0

    def apply(self, record: Record) -> Any:
        self.seen += 1
        return record.replace(topic=f"{record.topic}!")


class ChangesWhatItIsGiven(SoundTransform):
    def apply(self, record: Record) -> Any:
        record.topic = "another"
        return record


class NamesNoTopic(SoundTransform):
    def apply(self, record: Record) -> Any:
        return record.replace(topic="")


class MovesPositions(SoundTransform):
    def apply(self, record: Record) -> Any:
        return record.replace(position="1")


class Counts(SoundTransform):
    def apply(self, record: Record) -> Any:
        self.seen += 1
        return record.replace(topic=f"{record.topic}{self.seen}")


class KnowsNoTemplates(SoundTransform):
    def apply(self, record: Record) -> Any:
        return None if isinstance(record.value, TemplateStruct) else record


class TellsGroupsOtherwise(SoundTransform):
    def of_group(self, group: Group) -> Group:
        return group


class ClosesOnce(SoundTransform):
    def close(self) -> None:
        del self.seen


class GoesByHashes(SoundTransform):
    def apply(self, record: Record) -> Any:
        return record.replace(topic=str(hash(record.topic)))


class Tires(SoundTransform):
    def apply(self, record: Record) -> Any:
        self.seen += 1
        assert self.seen < 1000, "it has had enough"
        return record


class SoundPredicate(Predicate):
    def __init__(self, config: Nothing) -> None:
        self.seen = 0

    def test(self, record: Record) -> Any:
        return record.value is None


class AnswersByNumbers(SoundPredicate):
    def test(self, record: Record) -> Any:
        return int(record.value is None)


class MeansAll(SoundPredicate):
    def test(self, record: Record) -> Any:
        return True


class MeansEveryOther(SoundPredicate):
    def test(self, record: Record) -> Any:
        self.seen += 1
        return self.seen % 2 == 0


class MeansTemplates(SoundPredicate):
    def test(self, record: Record) -> Any:
        return record.value is None or isinstance(record.value, TemplateStruct)


class SeeksLater(SoundPredicate):
    def test(self, record: Record) -> Any:
        self.seen += 1
        return record.value is None

    def sought(self) -> Sought | None:
        return Sought("pattern 'x'", False) if self.seen else None


class SoundSerializer(JsonSerializer):
    pass


class LosesOne(SoundSerializer):
    def values(self, records: Sequence[Record]) -> list[bytes | None]:
        return super().values(records)[:-1]

    def serialize(self, records: Sequence[Record]) -> Messages:
        return Serializer.serialize(self, records)


class WritesTombstones(SoundSerializer):
    def values(self, records: Sequence[Record]) -> list[bytes | None]:
        return [value or b"null" for value in super().values(records)]

    serialize = Serializer.serialize


class WritesNoJson(SoundSerializer):
    def values(self, records: Sequence[Record]) -> list[bytes | None]:
        return [value and b"\x00" + value for value in super().values(records)]

    serialize = Serializer.serialize


class NumbersValues(SoundSerializer):
    def values(self, records: Sequence[Record]) -> list[bytes | None]:
        return [value and b"%d" % number for number, value in enumerate(super().values(records))]

    serialize = Serializer.serialize


class KnowsTheWholeAlone(SoundSerializer):
    def serialize(self, records: Sequence[Record]) -> Messages:
        messages = super().serialize(records)
        messages.keys = [key and b'"other"' for key in messages.keys]
        return messages


class HasOneKey(SoundSerializer):
    def keys(self, records: Sequence[Record]) -> list[bytes | None]:
        return [key and b'"one"' for key in super().keys(records)]

    serialize = Serializer.serialize


class WritesNoTemplates(SoundSerializer):
    def values(self, records: Sequence[Record]) -> list[bytes | None]:
        texts = super().values(records)
        return [
            b"1" if isinstance(one.value, TemplateStruct) else text for one, text in zip(records, texts, strict=True)
        ]

    serialize = Serializer.serialize


class SoundSink(FileSink):
    pass


def _picked(messages: Messages, numbers: Sequence[int]) -> Messages:
    columns = ("topics", "partitions", "keys", "values", "headers", "positions", "timestamps")
    return Messages(**{name: [getattr(messages, name)[number] for number in numbers] for name in columns})


class WritesBackwards(SoundSink):
    def write(self, messages: Messages) -> None:
        super().write(_picked(messages, range(len(messages))[::-1]))


class DropsTombstones(SoundSink):
    def write(self, messages: Messages) -> None:
        super().write(_picked(messages, [n for n in range(len(messages)) if messages.values[n] is not None]))


class DropsLongOnes(SoundSink):
    def write(self, messages: Messages) -> None:
        super().write(_picked(messages, [n for n in range(len(messages)) if len(messages.values[n] or b"") < 10_000]))


class BeginsAnew(SoundSink):
    def open(self, context: SinkContext) -> None:
        self.path.unlink(missing_ok=True)
        super().open(context)


class WantsSomething(SoundSink):
    def write(self, messages: Messages) -> None:
        assert len(messages), "there is nothing to write"
        super().write(messages)


class WantsToBeOpen(SoundSink):
    opened = False

    def open(self, context: SinkContext) -> None:
        self.opened = True
        super().open(context)

    def close(self) -> None:
        assert self.opened, "it is not open"
        super().close()


class FlushesAtTheEnd(SoundSink):
    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.held: list[Messages] = []

    def write(self, messages: Messages) -> None:
        self.held.append(messages)

    def flush(self) -> None:
        for messages in self.held[:-3]:
            super().write(messages)
        self.held = self.held[-3:]
        super().flush()


class TiresOfWriting(SoundSink):
    def write(self, messages: Messages) -> None:
        assert len(messages) < 500, "that is too much"
        super().write(messages)


class LinesConfig(SourceConfig):
    """Which file."""

    path: Path
    """The file; a number a line."""


class SoundSource(Source):
    position = "{:08d}"

    def __init__(self, config: LinesConfig) -> None:
        self.config = config
        self.closed = 0

    def open(self, context: SourceContext) -> None:
        self.context = context

    def initial_offset(self) -> Offset:
        return {"line": 0}

    def latest_offset(self, start: Offset, wait_seconds: float = 0.0) -> Offset:
        return {"line": len(self.lines())}

    def plan(self, start: Offset, end: Offset | None, parallelism: int = 1) -> Sequence[Split]:
        return [] if start == end else [Split(start, end)]

    def read(self, split: Split) -> Iterator[Batch]:
        at = split.start["line"]
        while split.end is None or at < split.end["line"]:
            for line in self.lines()[at : split.end["line"] if split.end else None]:
                at += 1
                record = Record("lines", None, SchemaAndValue(None, int(line)), position=self.position.format(at))
                yield Batch([record], {"line": at})
            if split.end is None:
                yield Batch((), {"line": at})
                if self.context.stopping():
                    return

    def lines(self) -> list[str]:
        return self.config.path.read_text().splitlines()

    def close(self) -> None:
        self.closed += 1


class LosesTheFirst(SoundSource):
    def read(self, split: Split) -> Iterator[Batch]:
        for number, batch in enumerate(super().read(split)):
            yield Batch(batch.records if number else (), batch.offset)


class HasNoJsonOffset(SoundSource):
    def latest_offset(self, start: Offset, wait_seconds: float = 0.0) -> Offset:
        return {"line": len(self.lines()), "file": (1, 2)}


class PlansNothingness(SoundSource):
    def plan(self, start: Offset, end: Offset | None, parallelism: int = 1) -> Sequence[Split]:
        return [Split(start, end)]


class EndsElsewhere(SoundSource):
    def latest_offset(self, start: Offset, wait_seconds: float = 0.0) -> Offset:
        return {"line": len(self.lines()), "asked": start.get("asked", 0) + 1}


class HasOnePosition(SoundSource):
    position = "same"


class ReadsTooFar(SoundSource):
    def read(self, split: Split) -> Iterator[Batch]:
        yield from super().read(Split(split.start, split.end and {"line": len(self.lines())}))


class OffersAnEarlierOffset(SoundSource):
    def read(self, split: Split) -> Iterator[Batch]:
        for batch in super().read(split):
            yield Batch(batch.records, {"line": max(0, (batch.offset or {})["line"] - 1)})


class KeepsSplits(SoundSource):
    def plan(self, start: Offset, end: Offset | None, parallelism: int = 1) -> Sequence[Split]:
        return [Split(split.start, split.end, payload=lambda: None) for split in super().plan(start, end)]


class HasNoOpenEnd(SoundSource):
    def plan(self, start: Offset, end: Offset | None, parallelism: int = 1) -> Sequence[Split]:
        return super().plan(start, end or self.latest_offset(start))


class SavesTooEarly(SoundSource):
    def read(self, split: Split) -> Iterator[Batch]:
        state, at = self.context.state, split.start["line"]
        if state is not None:
            at = max(at, state.get("handed on") or 0)
            state.put("handed on", len(self.lines()))
        yield from super().read(Split({"line": at}, split.end))


class ClosesOnceOnly(SoundSource):
    def close(self) -> None:
        super().close()
        assert self.closed == 1, "it is closed"
