"""What a sink holds, read back for `cdc diff`: messages as they were written, or rows of tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, Self

from cdckit.api.record import Offset, Record


class HeldMessage(NamedTuple):
    """One message that a sink holds.

    Attributes:
        topic: its topic.
        key: what the JSON of its key says; None for a message without a key.
        value: the same of its value; None for a tombstone.
        position: the text of its position header; "" where it has none.
        partial: whether its header says that the source's log did not carry all values of the row.
    """

    topic: str
    key: Any
    value: Any
    position: str
    partial: bool = False


@dataclass(frozen=True, slots=True)
class HeldMessages:
    """What a sink of messages holds of some topics.

    Attributes:
        batches: the messages, those of one key in the order in which a consumer meets them.
        removed: of which topics older messages are gone, and why; may be filled until the last batch was given.
        passing: the topics that are given to their present ends, whatever ends were asked for.
    """

    batches: Iterable[Sequence[HeldMessage]]
    removed: Mapping[str, str] = field(default_factory=dict)
    passing: Collection[str] = ()


class Image(NamedTuple):
    """The state of one row behind one change, in the form in which two sides are compared.

    Attributes:
        topic: where the row's changes go.
        key: the key as canonical JSON; None: all rows of the topic are gone.
        row: the row, in a form that equal rows share and others do not, and that `Images.fields` reads; None: there is
            no such row any more.
        position: where in the source's log; "" where that is not known.
        told: the row's hash as the pipeline's ledger has it; empty where it keeps none.
    """

    topic: str
    key: bytes | None
    row: bytes | None
    position: str
    told: bytes = b""


class ImageColumns(NamedTuple):
    """Images of rows of one topic, all of which there are, column by column: much cheaper than one by one.

    Attributes:
        topic: where the rows' changes go.
        keys: as `Image.key`.
        rows: as `Image.row`.
        positions: as `Image.position`; None where they do not count.
    """

    topic: str
    keys: Sequence[bytes]
    rows: Sequence[bytes]
    positions: Sequence[str] | None = None


HASH_BYTES = 16
"""The bytes of a hash of an image's key or row."""


def key_prefix(topic: str) -> bytes:
    """What stands before a key where it is hashed, so that two topics have no hashes in common."""
    return topic.encode() + b"\0"


@dataclass(frozen=True, slots=True)
class Hashing:
    """How images are hashed by other processes; it can be pickled.

    Attributes:
        digest: the hash of a text, of `HASH_BYTES`.
        wanted: the hashes of the keys whose images are wanted themselves.
    """

    digest: Callable[[bytes], bytes]
    wanted: frozenset[bytes] = frozenset()


@dataclass(frozen=True, slots=True)
class ImageHashes:
    """Images of one topic of which another process has told the hashes alone.

    Attributes:
        topic: where the rows' changes go.
        keys: the hashes of the keys, behind `key_prefix`, one after another.
        rows: the same of the rows.
        gone: a byte for each, 1 where there is no such row any more; empty: all are there.
        positions: as `Image.position`; None where they do not count.
        wanted: the images of wanted keys, which are among these.
        undecidable: why the topic cannot be compared; "": it can.
        dropped: the source tables of which transforms left a row out.
    """

    topic: str
    keys: bytes = b""
    rows: bytes = b""
    gone: bytes = b""
    positions: Sequence[str] | None = None
    wanted: Sequence[Image] = ()
    undecidable: str = ""
    dropped: Sequence[str] = ()


class ImageMaker(Protocol):
    """Makes images of records in another process; it can be pickled.

    Attributes:
        undecidable: which topics cannot be compared, as was found there, and why.
    """

    undecidable: dict[str, str]

    def of(self, records: Sequence[Record]) -> Iterable[Image]:
        """As `Images.of`."""

    def columns_of(self, records: Sequence[Record]) -> Iterable[ImageColumns | Iterable[Image]]:
        """As `Images.columns_of`."""


@dataclass(frozen=True, slots=True)
class Barrier:
    """A place at which a pipeline had just saved its offset: all before it was in the sink then.

    Attributes:
        offset: the offset.
        reached: of a sink of messages, by lane the position of the last one before it.
        application: of a sink of tables, by what name its batches are known there.
        batch: the number of the last batch before it.
        ends: of a sink of messages, by topic where they ended, as `Sink.ends` told; None: it told nothing.
    """

    offset: Offset
    reached: Mapping[str, str] = field(default_factory=dict)
    application: str = ""
    batch: int = 0
    ends: Mapping[str, Any] | None = None

    @property
    def tells(self) -> bool:
        """Whether what the sink held there can be told from what has come since."""
        return bool(self.reached or self.application or self.ends is not None)

    def to_json(self) -> dict[str, Any]:
        """It as JSON has it."""
        return {
            "offset": self.offset,
            "reached": dict(self.reached),
            "application": self.application,
            "batch": self.batch,
            "ends": None if self.ends is None else dict(self.ends),
        }

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Self:
        """Reads what `to_json` gave; damage shows as a KeyError, TypeError or ValueError."""
        ends = told.get("ends")
        return cls(
            dict(told["offset"]),
            dict(told["reached"]),
            str(told["application"]),
            int(told["batch"]),
            None if ends is None else dict(ends),
        )


@dataclass(frozen=True, slots=True)
class Shown:
    """What of a topic's rows is compared.

    Attributes:
        columns: the columns; None: all of them.
        key: those that identify a row.
        documents: columns that hold JSON as text, which a source may space and order in more than one way.
        times: columns that hold times as text, whose fractions may end in zeros or not.
        types: of columns of tables the types in which their values count, as Spark writes them; others: as they are.
        floats: columns that hold numbers of four bytes, of which a reading of the rows may show six digits alone.
    """

    columns: frozenset[str] | None = None
    key: tuple[str, ...] = ()
    documents: frozenset[str] = frozenset()
    times: frozenset[str] = frozenset()
    types: Mapping[str, str] = field(default_factory=dict)
    floats: frozenset[str] = frozenset()


class Images(ABC):
    """Gives images of the source's rows as the sink would hold them, and of those that it does hold.

    Attributes:
        by_position: whether the newest position of a key counts in what is held, which then may come in any order;
            else the last image does.
        keeps: whether what the sink held at an earlier place can be read.
        once: whether what is held has each image only once, so that one that comes again is a fault.
        removed: of which topics older images are gone, and why; known once `held` was asked.
        undecidable: which topics cannot be compared, and why.
        passing: the topics that are held as they are now, whatever place was asked for; known once `held` was asked.
    """

    by_position: bool = False
    keeps: bool = False
    once: bool = False

    def __init__(self) -> None:
        self.removed: dict[str, str] = {}
        self.undecidable: dict[str, str] = {}
        self.passing: set[str] = set()

    @abstractmethod
    def show(self, topic: str, shown: Shown) -> None:
        """Says of a topic, before its first rows, what of them is compared."""

    def tell(self, topic: str, told: Shown, hashed: Callable[[bytes], bytes]) -> None:
        """Has the images of a topic carry the hash that the ledger has of their row, where tables are read."""

    @abstractmethod
    def fields(self, topic: str, row: bytes) -> dict[str, Any]:
        """The values of an image's row by their names, for people."""

    @abstractmethod
    def of(self, records: Sequence[Record]) -> Iterable[Image]:
        """The images of some records behind the transforms, in their order."""

    def columns_of(self, records: Sequence[Record]) -> Iterable[ImageColumns | Iterable[Image]]:
        """What `of` gives, as far as possible by columns, for who wants no single image."""
        yield self.of(records)

    def held_columns(self, topics: Collection[str]) -> Iterator[ImageColumns | Iterable[Image]]:
        """What `held` gives, in the same way.

        Raises:
            SinkError: it cannot be read.
        """
        yield from self.held(topics)

    def hashes(self, topic: str) -> bool:
        """Whether other processes read and hash what is held of a topic: then `hashed` is asked; known once shown."""
        return False

    def hashed(self, topics: Collection[str], hashing: Hashing) -> Iterator[ImageHashes]:
        """The hashes of what `held` would give.

        Raises:
            SinkError: it cannot be read.
        """
        raise NotImplementedError

    def maker(self) -> ImageMaker | None:
        """What makes images of records in other processes, by what is shown by now; None: this process alone does."""
        return None

    def until(self, barrier: Barrier) -> None:
        """Has `held` give what the sink held at a place, whatever has come since; asked where it `keeps` that."""
        raise NotImplementedError

    @abstractmethod
    def held(self, topics: Collection[str]) -> Iterator[Sequence[Image]]:
        """The images that the sink holds of some topics.

        Raises:
            SinkError: it cannot be read.
        """

    @abstractmethod
    def close(self) -> None:
        """Lets go of all resources. May be called twice."""
