"""What decides how tables follow their sources, the same for all tables of a sink."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from cdckit.tables.behavior import Behavior

_BY_OPTION = "`schema.evolution: try_evolve` among the options"


@dataclass(frozen=True, slots=True)
class Policy:
    """What decides about changes.

    Attributes:
        mirror: whether the tables equal their sources, or are changelogs.
        behavior: what the user has chosen.
        told: whether the source tells marks, so that it can be asked to read a table again.
        commands: whether the user can accept a change by a command, or by an option alone.
        replays: whether rows come out of a quarantine, by the chain of now.
        keeps: whether, in tables that equal their sources otherwise, what was there before is kept.
    """

    mirror: bool = False
    behavior: Behavior = field(default_factory=Behavior)
    told: bool = False
    keeps: bool = False
    commands: bool = True
    replays: bool = False

    @property
    def unasked(self) -> Policy | None:
        """What would decide if a mirror, whose user is asked first, did not ask; None where nothing is asked."""
        if self.behavior.mode != "exception" or not (self.mirror and self.told):
            return None
        return replace(self, behavior=replace(self.behavior, mode="evolve"))

    def advice(self, source: str) -> str:
        """The command that resolves a change of a source table which cannot be followed."""
        accept = f"`cdc schema accept FILE --table {source}`" if self.commands else _BY_OPTION
        if self.behavior.mode == "exception":
            return f"schema.evolution is 'exception': {accept} has the table follow this once"
        if self.mirror and self.told:
            return (
                f"`cdc resnapshot FILE --table {source}` reads the table anew; if it is gone by now, {accept} goes on"
            )
        casts = self.mirror and not self.keeps
        kept = "what it cannot cast becomes null" if casts else "older values stay, in a column of another name"
        return f"{accept} has the table follow: {kept}"
