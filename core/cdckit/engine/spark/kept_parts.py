"""What a planner has read, as bytes: records and marks in parts, whose schemas are written once for all of them.

Two schemas are the same only if they are one object. So each has a number among those of one writer, and whoever reads
gets one object for it, and the same one for all schemas that say the same in one process.
"""

from __future__ import annotations

import io
import pickle
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import IO, Any, NamedTuple

import pyarrow as pa

from cdckit.api.marks import TableExample, TableMark
from cdckit.api.record import Record
from cdckit.api.schema import Schema
from cdckit.api.undecoded import Undecoded

_SIZES = struct.Struct("<QQ")
_MOST_SCHEMAS = 20_000
"""So many schemas a process remembers before it begins anew."""


class Part(NamedTuple):
    """Some of what was read, in order.

    Attributes:
        records: in order.
        marks: what happened to whole tables among them.
        log_bytes: how much of the log it took.
        undecoded: what was passed over before these records.
    """

    records: Sequence[Record]
    marks: Sequence[TableMark]
    log_bytes: int
    undecoded: Sequence[Undecoded] = ()


@dataclass(frozen=True, slots=True)
class _KnownTables:
    """What a mark's `captured` gave."""

    tables: tuple[TableExample, ...]

    def __call__(self) -> Iterable[TableExample]:
        return self.tables


def _schema(number: int) -> Schema:
    raise NotImplementedError(f"schema {number} is known to whoever reads its part")


class PartWriter:
    """Writes parts into a file, one behind the other."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._numbers: dict[int, tuple[int, Schema]] = {}
        self._new: list[bytes] = []

    def write(self, part: Part) -> None:
        """Adds a part."""
        content = self._dumped(part._replace(records=list(part.records), marks=list(_known(part.marks))))
        plain = pickle.dumps((self._new, content), pickle.HIGHEST_PROTOCOL)
        self._new = []
        packed = pa.compress(plain, "lz4", asbytes=True)
        self._file.write(_SIZES.pack(len(plain), len(packed)))
        self._file.write(packed)

    def number(self, schema: Schema) -> int:
        """The schema's number; where it is new, it is written with the part in hand."""
        known = self._numbers.get(id(schema))
        if known is not None:
            return known[0]
        state = self._dumped(schema.__getstate__())  # numbers those that it is made of, before itself
        number = len(self._numbers)
        self._numbers[id(schema)] = number, schema
        self._new.append(state)
        return number

    def _dumped(self, content: Any) -> bytes:
        buffer = io.BytesIO()
        _Pickler(buffer, self.number).dump(content)
        return buffer.getvalue()


class _Pickler(pickle.Pickler):
    def __init__(self, buffer: io.BytesIO, number: Callable[[Schema], int]) -> None:
        super().__init__(buffer, pickle.HIGHEST_PROTOCOL)
        self._number = number

    def reducer_override(self, obj: Any) -> Any:
        return (_schema, (self._number(obj),)) if type(obj) is Schema else NotImplemented


def _known(marks: Iterable[TableMark]) -> Iterator[TableMark]:
    """Marks that tell by themselves which tables are captured: those who ask are in other processes."""
    found: dict[int, _KnownTables] = {}
    for mark in marks:
        known = found.get(id(mark.captured))
        if known is None:
            known = found[id(mark.captured)] = _KnownTables(tuple(mark.captured()))
        yield replace(mark, captured=known)


def parts_of(file: IO[bytes]) -> Iterator[Part]:
    """The parts that a `PartWriter` of this project has written into a file.

    Raises:
        EOFError: the file ends within a part.
    """
    schemas: list[Schema] = []
    while head := file.read(_SIZES.size):
        if len(head) < _SIZES.size:
            raise EOFError("it ends within a part")
        size, packed = _SIZES.unpack(head)
        data = file.read(packed)
        if len(data) < packed:
            raise EOFError("it ends within a part")
        new, content = pickle.loads(pa.decompress(data, size, "lz4", asbytes=True))  # noqa: S301 - own file
        for state in new:
            schemas.append(_one_for_all(_Loader(io.BytesIO(state), schemas).load()))
        yield _Loader(io.BytesIO(content), schemas).load()


class _Loader(pickle.Unpickler):
    def __init__(self, buffer: io.BytesIO, schemas: Sequence[Schema]) -> None:
        super().__init__(buffer)
        self._schemas = schemas

    def find_class(self, module: str, name: str) -> Any:
        own = (module, name) == (__name__, _schema.__name__)
        return self._schemas.__getitem__ if own else super().find_class(module, name)


_schemas: dict[tuple[Any, ...], Schema] = {}


def _one_for_all(state: tuple[Any, ...]) -> Schema:
    """The schema of a state; the one that this process has of it, as what serializers have derived hangs on that."""
    made = Schema.__new__(Schema)
    made.__setstate__(state)
    fields = tuple((field.name, field.index, id(field.schema)) for field in made.fields)
    plain = (made.type, made.optional, repr(made.default), made.name, made.version, made.doc, repr(made.stored))
    parameters = None if made.parameters is None else tuple(made.parameters.items())
    if len(_schemas) > _MOST_SCHEMAS:
        _schemas.clear()
    return _schemas.setdefault((*plain, parameters, fields, id(made.keys), id(made.items)), made)
