"""What a round says of each table: that it is equal, that it is not, or that it must be looked at again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cdckit.api.held import Image, Images
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.proof.comparing import Mismatch
from cdckit.engine.proof.report import Difference, Outcome, TableProof
from cdckit.engine.proof.rounds import Found
from cdckit.engine.proof.routes import Route, shared
from cdckit.engine.proof.suspects import Suspects

_SHOWN = 1000
_EMPTIED = "TRUNCATE is left out (skipped.operations: t, the default): rows from before one stay"
_LEFT_OUT = "the transforms leave out some of its rows"


@dataclass(slots=True)
class Judged:
    """What is known by now.

    Attributes:
        decided: the tables that need no further round, by their names.
        again: the names of the tables that do.
        suspects: what the next round is asked about.
    """

    decided: dict[str, TableProof] = field(default_factory=dict)
    again: list[str] = field(default_factory=list)
    suspects: Suspects = field(default_factory=Suspects)


class Verdict:
    """Judges rounds.

    Args:
        pipeline: whose source and sink were compared.
        images: what read the sink.
    """

    def __init__(self, pipeline: ResolvedPipeline, images: Images) -> None:
        self._config = pipeline.source_config
        self._images = images

    def of(self, found: Found, before: Suspects, *, last: bool) -> Judged:
        """What a round says.

        Args:
            found: what it found.
            before: what no round before it found equal.
            last: whether there is no further one.
        """
        judged = Judged()
        for topic, routes in shared(found.routes):
            name = ", ".join(sorted(route.table for route in routes))
            why = self._undecidable(found, topic, routes)
            if why is not None:
                judged.decided[name] = TableProof(
                    name, topic, "undecided", found.rows[topic], position=found.position, note=why
                )
                continue
            unsettled = [f"{route.table}: {found.unsettled[route.table]}" for route in routes
                         if route.table in found.unsettled]  # fmt: skip
            more = found.more[topic] > 0
            differing = before.among(topic, found.differing.get(topic, {}), more=more)
            known = before.rows.get(topic, {})
            exact = found.exact and topic not in found.passing
            still = {key: one for key, one in differing.items() if _counts(one, known, exact=exact)}
            if not last and (unsettled or len(still) < len(differing)):
                judged.again += [route.table for route in routes]
                judged.suspects.keep(topic, differing, complete=not (more or unsettled))
            elif unsettled:
                note = f"its definition or all its rows changed while it was read ({', '.join(unsettled)})"
                judged.decided[name] = TableProof(name, topic, "undecided", found.rows[topic], note=note)
            else:
                judged.decided[name] = self._decided(found, topic, routes, differing, still)
        return judged

    def _undecidable(self, found: Found, topic: str, routes: Sequence[Route]) -> str | None:
        config = self._config
        if config.partial_updates is not None:
            return f"updates carry only what has changed: {config.partial_updates}"
        if skipped := config.skipped & {"c", "u", "d"}:
            return f"skipped.operations leaves out '{','.join(sorted(skipped))}'"
        for route in routes:
            if route.undecidable is not None:
                return route.undecidable
            if route.table in found.dropped:
                return _LEFT_OUT
        return self._images.undecidable.get(topic) or found.behind

    def _decided(
        self,
        found: Found,
        topic: str,
        routes: Sequence[Route],
        differing: Mapping[bytes, Mismatch],
        still: Mapping[bytes, Mismatch],
    ) -> TableProof:
        counts = Counter(one.fault for one in still.values())
        changed = counts["changed"] + counts["doubled"] + (found.more[topic] if len(still) == len(differing) else 0)
        gone = self._gone(topic, routes)
        missing = counts["missing"]
        moving = len(differing) - len(still)
        left_out = self._config.changes_left_out
        rightly = gone if missing else None, left_out if still else None
        outcome: Outcome = "equal"
        if counts["extra"] or changed or (missing and gone is None):
            outcome = "unequal" if left_out is None else "undecided"
        elif moving or (missing and gone is not None):
            outcome = "undecided"
        name = ", ".join(sorted(route.table for route in routes))
        return TableProof(
            name,
            topic,
            outcome,
            found.rows[topic],
            missing,
            counts["extra"],
            changed,
            found.position,
            note="; ".join(self._notes(found, topic, routes, rightly, moving, counts["extra"])),
            differences=tuple(_differences(found, self._images, still)),
            plain_key=len(routes) == 1 and routes[0].plain_key,
            exact=found.exact and topic not in found.passing,
        )

    def _gone(self, topic: str, routes: Sequence[Route]) -> str | None:
        """Why rows may rightly be missing."""
        if topic in self._images.removed:
            return f"tail only: {self._images.removed[topic]}"
        return next((why for route in routes if (why := self._config.rows_left_out(route.table))), None)

    def _notes(
        self, found: Found, topic: str, routes: Sequence[Route], rightly: Iterable[str | None], moving: int, extra: int
    ) -> Iterator[str]:
        yield from filter(None, rightly)
        if extra and "t" in self._config.skipped:
            yield _EMPTIED
        if moving:
            yield f"{moving} rows that differ kept changing"
        if found.more[topic]:
            yield f"{found.more[topic]} more differ, of which nothing was kept"
        left_out = sorted({name for route in routes for name in route.left_out})
        if left_out:
            yield f"not compared, as they tell of the event: {', '.join(left_out)}"


def _counts(one: Mismatch, before: Mapping[bytes, Mismatch], *, exact: bool) -> bool:
    """Whether a row differs for good: at one place of both sides, or without a move between two rounds."""
    if exact:
        return one.key in before
    return not one.moved and one.same_as(before.get(one.key))


def _differences(found: Found, images: Images, still: Mapping[bytes, Mismatch]) -> Iterator[Difference]:
    for key, one in list(still.items())[:_SHOWN]:
        source, sink = found.source.get(key), found.sink.get(key)
        known = source or sink
        if known is not None and known.key is not None:
            row, held = _fields(images, source), _fields(images, sink)
            columns = () if row is None or held is None else _changed(row, held)
            at, held_at = ("" if each is None else each.position for each in (source, sink))
            hashes = (source.told if source else b"", sink.told if sink else b"")
            yield Difference(known.key.decode(), one.fault, columns, row, held, at, held_at, hashes)


def _fields(images: Images, image: Image | None) -> dict[str, Any] | None:
    return None if image is None or image.row is None else images.fields(image.topic, image.row)


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name)))
