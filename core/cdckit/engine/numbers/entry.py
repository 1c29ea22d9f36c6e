"""What a number stands for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """One kind of fault.

    Attributes:
        number: such as `CDC3101`; the first digit of an error's is the exit code, of a finding's 1, of others 9.
        title: a few words.
        text: what happened, and what follows from it.
        remedy: what to do.
    """

    number: str
    title: str
    text: str
    remedy: str

    @property
    def section(self) -> str:
        """It in Markdown."""
        return f"### {self.number}: {self.title}\n\n{self.text}\n\n*What to do:* {self.remedy}\n"
