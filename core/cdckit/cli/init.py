"""`cdc init`: writes a first pipeline file, by asking or from the command line."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from cdckit.api.checks import why_unwritable
from cdckit.api.plugins import config_model, factory, find, registrations
from cdckit.api.sink import TableSink
from cdckit.cli.first_file import FirstFile, asked_of, include_list, is_secret, option_of, variable_of
from cdckit.cli.run import COSTS
from cdckit.cli.settings import Command
from cdckit.engine.config.options import Option
from cdckit.errors import CdcError, ConfigError
from cdckit.tables.direct import DirectTableSink

_MOST_SHOWN = 40


@click.command("init", cls=Command)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), default="pipeline.yaml")
@click.option("--source", "source_type", metavar="TYPE", help="Where changes are read: mysql, mongodb …")
@click.option("--sink", "sink_type", metavar="TYPE", help="Where they go: kafka, file …")
@click.option("--runner", type=click.Choice(list(COSTS)), help="Who drives the pipeline.")
@click.option("--set", "assignments", multiple=True, metavar="KEY=VALUE", help="An option: source.database.user=cdc.")
@click.option("--table", "tables", multiple=True, metavar="NAME", help="A table to capture: DATABASE.TABLE.")
@click.option("--connect/--no-connect", default=True, help="Whether to ask the source for its tables.")
@click.option("--force", is_flag=True, help="Replace the file where there is one.")
@click.option("--yes", is_flag=True, help="Ask nothing: what is not given is the default.")
def init(
    file: Path,
    source_type: str | None,
    sink_type: str | None,
    runner: str | None,
    assignments: tuple[str, ...],
    tables: tuple[str, ...],
    connect: bool,
    force: bool,
    yes: bool,
) -> None:
    """Write a first pipeline FILE (pipeline.yaml), by asking: source, tables, sink, runner.

    What stands on the command line is not asked for, and without a terminal nothing is. Passwords are never written:
    the file names variables in their place.
    """
    asks = not yes and sys.stdin.isatty()
    _require_folder(file)
    _require_free(file, force=force, asks=asks)
    answers = Answers(_assigned(assignments), asks=asks)
    source = answers.component("source", source_type, "mysql")
    made = FirstFile(source, secrets=answers.secrets, folder=file.absolute().parent)
    if tables or connect:
        _choose_tables(made, list(tables), asks=asks, connect=connect)
    made.sink = answers.component("sink", sink_type, "stdout")
    answers.require_used()
    made.runner = _runner(made.sink["type"], runner, asks=asks)
    made.check(answers.variables)
    comments = {"runner": COSTS[made.runner], **{kind: _summary(kind, made) for kind in ("source", "sink")}}
    file.write_text(made.text(comments), encoding="utf-8")
    _tell_what_next(file, list(answers.variables))


class Answers:
    """Gives the options of components: from the command line, by asking, or by default.

    Args:
        given: those of the command line, by full name.
        asks: whether to ask for the others.

    Attributes:
        variables: those that stand for secrets in the file, each with its option.
        secrets: their values, as far as they were told.
    """

    def __init__(self, given: dict[str, str], *, asks: bool) -> None:
        self._given = given
        self._asks = asks
        self._described = ""
        """What was told last: options below one name are described by the same words."""
        self.variables: dict[str, str] = {}
        self.secrets: dict[str, str] = {}

    def component(self, kind: Any, named: str | None, default: str) -> dict[str, Any]:
        """The options of a source or sink, its type first.

        Raises:
            ConfigError: there is none of that type, or an option that is required is not given.
        """
        name = named or self._given.pop(f"{kind}.type", None) or (_ask_type(kind, default) if self._asks else default)
        model = config_model(find(kind, name))
        options: dict[str, Any] = {"type": name}
        for option in asked_of(model):
            value = self._value(f"{kind}.{option.name}", option)
            if value is not None:
                options[option.name] = value
        for full in [full for full in self._given if full.startswith(f"{kind}.")]:
            option = option_of(model, full.removeprefix(f"{kind}."))
            options[option.name] = self._value(full, option)
        return options

    def _value(self, full: str, option: Option) -> Any:
        if is_secret(option):
            return self._secret(full, option)
        if full in self._given:
            return self._plain(self._given.pop(full))
        if self._asks:
            answer = self._ask(option)
            return self._plain(answer) if answer else None
        if option.required and not option.default:
            raise ConfigError(f"--set {full}=VALUE: is needed. {option.description}", number="CDC2509")
        return self._plain(option.default) if option.default else None

    def _secret(self, full: str, option: Option) -> str:
        """A variable in the place of a secret; the variable is asked for where it has no value here."""
        given = self._given.pop(full, None)
        if given is not None and not re.fullmatch(r"\$\{\w+\}", given):
            raise ConfigError(
                f"--set {full}: a secret is not written into the file: give the variable that has it, as "
                f"'{full}=${{{variable_of(option.name)}}}'",
                number="CDC2509",
            )
        name = given[2:-1] if given is not None else variable_of(option.name)
        self.variables[name] = option.name
        if self._asks and name not in os.environ:
            text = f"{option.name} (it is not written; the file says ${{{name}}})"
            self.secrets[name] = click.prompt(text, hide_input=True, default="", show_default=False)
        return f"${{{name}}}"

    def _ask(self, option: Option) -> str:
        if option.description != self._described:
            click.echo(f"  {option.description}")
        self._described = option.description
        kind = click.Choice(list(option.choices)) if option.choices else None
        default = option.default if option.default or not option.required else None
        answer: str = str(click.prompt(option.name, type=kind, default=default))
        return answer

    @staticmethod
    def _plain(text: str) -> Any:
        """Numbers and truth values as YAML writes them."""
        if text.isdecimal() and (text == "0" or not text.startswith("0")):
            return int(text)
        return {"true": True, "false": False}.get(text, text)

    def require_used(self) -> None:
        """Sees that each option of the command line had its place.

        Raises:
            ConfigError: with those that had none.
        """
        if self._given:
            raise ConfigError(
                *(f"--set {full}: should begin with source. or sink." for full in self._given), number="CDC2509"
            )


def _require_folder(file: Path) -> None:
    """Before anything is asked: what was answered would be lost."""
    if (problem := why_unwritable(file.parent)) is not None:
        raise ConfigError(f"{file}: {problem}; name a file in a folder that can be written", number="CDC2509")


def _require_free(file: Path, *, force: bool, asks: bool) -> None:
    if not file.exists() or force:
        return
    if not asks:
        raise ConfigError(f"{file}: is there already; --force replaces it, or name another file", number="CDC2509")
    click.confirm(f"{file} is there already; replace it?", abort=True)


def _assigned(assignments: Sequence[str]) -> dict[str, str]:
    found = dict(assignment.partition("=")[::2] for assignment in assignments)
    if wrong := [assignment for assignment in assignments if "=" not in assignment]:
        raise ConfigError(
            f"--set {wrong[0]}: write it as KEY=VALUE, such as source.database.user=cdc", number="CDC2509"
        )
    return found


def _ask_type(kind: Any, default: str) -> str:
    known = {registration.name: registration for _, registration in registrations(kind)}
    for name, registration in known.items():
        click.echo(f"  {name:<10} {registration.summary}")
    chosen: str = click.prompt(kind, type=click.Choice(list(known)), default=default, show_choices=False)
    return chosen


def _choose_tables(made: FirstFile, tables: list[str], *, asks: bool, connect: bool) -> None:
    """Puts the tables into the source's include list: those named, or those chosen of what the source has."""
    option = include_list(config_model(find("source", made.source["type"])))
    if option is None:
        if tables:
            raise ConfigError(f"--table: the source '{made.source['type']}' has no list of tables", number="CDC2509")
        return
    if not tables and connect and option not in made.source:
        tables = _of_the_source(made, asks=asks)
    if tables:
        made.source[option] = ",".join(tables)


def _of_the_source(made: FirstFile, *, asks: bool) -> list[str]:
    """What the source has, and which of it the user wants; nothing: all."""
    try:
        found = list(made.tables())
    except CdcError as error:
        click.echo(f"the source was asked for its tables, and: {error}", err=True)
        return []
    for number, name in enumerate(found[:_MOST_SHOWN], 1):
        click.echo(f"  {number:>3} {name}")
    if len(found) > _MOST_SHOWN:
        click.echo(f"      and {len(found) - _MOST_SHOWN} more")
    if not found:
        click.echo("the source has no table that this user may read", err=True)
    if not asks or not found:
        return []
    answer = click.prompt("which: numbers, or names, which may be regular expressions; empty: all", default="")
    words = [word for word in re.split(r"[,\s]+", answer) if word]
    return [_named(word, found) for word in words]


def _named(word: str, found: Sequence[str]) -> str:
    """A table by its number; dots in names stand for themselves."""
    if word.isdecimal() and 0 < int(word) <= len(found):
        return re.sub(r"([$+*?()\[\]{}|^\\])", r"\\\1", found[int(word) - 1])
    return word


def _runner(sink: str, named: str | None, *, asks: bool) -> str:
    made_by = factory(find("sink", sink))
    keeps_tables = isinstance(made_by, type) and issubclass(made_by, TableSink)
    needs_spark = keeps_tables and not issubclass(made_by, DirectTableSink)
    if named == "direct" and needs_spark:
        raise ConfigError(
            f"--runner: the sink '{sink}' keeps Spark tables and needs the runner spark", number="CDC2509"
        )
    if named is not None or needs_spark or not asks:
        return named or ("spark" if needs_spark else "direct")
    for name, cost in COSTS.items():
        click.echo(f"  {name:<7} {cost}")
    chosen: str = click.prompt("runner", type=click.Choice(list(COSTS)), default="direct", show_choices=False)
    return chosen


def _summary(kind: Any, made: FirstFile) -> str:
    options = made.source if kind == "source" else made.sink
    return find(kind, options["type"]).summary


def _tell_what_next(file: Path, variables: Sequence[str]) -> None:
    named = shlex.quote(str(file))
    click.echo(f"{file} is written. Next:")
    for name in variables:
        if name not in os.environ:
            click.echo(f"  export {name}=…")
    click.echo(f"  cdc validate {named} --connect")
    click.echo(f"  cdc run {named}")
