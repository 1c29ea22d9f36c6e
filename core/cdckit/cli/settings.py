"""What every command takes: how to log, and which pipeline with what changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from cdckit.cli import logs
from cdckit.cli.plugins_dir import plugins_dir_option
from cdckit.cli.suggestions import complete_assignments, complete_sinks

INTERRUPTED = 130
"""The exit code after SIGINT."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(slots=True)
class Settings:
    """How one call of the command logs."""

    log_format: logs.Format = "text"
    log_level: str = "info"
    debug: bool = False

    @property
    def variables(self) -> dict[str, str]:
        """What says the same to a process that is started."""
        debug = {"CDC_DEBUG": "1"} if self.debug else {}
        return {"CDC_LOG_FORMAT": self.log_format, "CDC_LOG_LEVEL": self.log_level, **debug}


@dataclass(frozen=True, slots=True)
class Chosen:
    """The pipeline that a command line names.

    Attributes:
        file: the pipeline file, or a connector's configuration.
        overrides: `KEY=VALUE` each.
        runner: stronger than the file's.
        sink: another sink in the place of the file's.
    """

    file: Path
    overrides: Sequence[str]
    runner: str | None
    sink: str | None

    @property
    def arguments(self) -> list[str]:
        """What chooses the same of another file."""
        chosen = [*(f"--set={assignment}" for assignment in self.overrides)]
        chosen += [f"--runner={self.runner}"] if self.runner is not None else []
        return [*chosen, *([f"--sink={self.sink}"] if self.sink is not None else [])]


def common_options() -> list[click.Option]:
    """The options that stand before a command as well as after it."""
    return [
        _option("--log-format", click.Choice(["text", "json"]), "How logs look on standard error."),
        _option("--log-level", click.Choice(logs.LEVELS), "The least important logs to show."),
        _option("--debug", None, "Show the trace of an error."),
        plugins_dir_option(),
    ]


def _option(name: str, kind: click.Choice[str] | None, about: str) -> click.Option:
    return click.Option(
        [name],
        type=kind or click.BOOL,
        is_flag=kind is None,
        default=None,
        envvar=f"CDC_{name.removeprefix('--').replace('-', '_').upper()}",
        help=about,
        expose_value=False,
        is_eager=True,
        callback=_remember,
    )


def _remember(context: click.Context, option: click.Parameter, value: Any) -> None:
    """Notes the option for the whole call; what stands after the command wins over what stands before it."""
    assert option.name is not None
    settings = current_settings()
    if value is not None and (context.parent is None or _is_typed(context, option.name)):
        setattr(settings, option.name, value)


def _is_typed(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def current_settings() -> Settings:
    """How the call under way logs."""
    return click.get_current_context().find_root().ensure_object(Settings)


class Command(click.Command):
    """A command of `cdc`, with the options for logs and plugins."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += common_options()

    def invoke(self, ctx: click.Context) -> Any:
        """Runs it, once logging is set up."""
        settings = current_settings()
        logs.configure(settings.log_format, settings.log_level)
        return super().invoke(ctx)


def pipeline_options(command: _Function) -> _Function:
    """Adds FILE, `--set`, `--runner` and `--sink`; the command gets them as `chosen`."""

    @wraps(command)
    def gather(file: Path, overrides: tuple[str, ...], runner: str | None, sink: str | None, **others: Any) -> Any:
        return command(chosen=Chosen(file, overrides, runner, sink), **others)

    options = [
        click.argument("file", type=click.Path(path_type=Path)),
        click.option(
            "--set",
            "overrides",
            multiple=True,
            metavar="KEY=VALUE",
            help="Set an option of the file.",
            shell_complete=complete_assignments,
        ),
        click.option("--runner", type=click.Choice(["direct", "spark"]), help="Another runner than the file's."),
        click.option(
            "--sink", metavar="TYPE", help="Another sink in the place of the file's.", shell_complete=complete_sinks
        ),
    ]
    decorated: Any = gather
    for option in reversed(options):
        decorated = option(decorated)
    result: _Function = decorated
    return result
