"""The command `cdc`: finds the command that is meant, and turns every error into a message and an exit code."""

from __future__ import annotations

import importlib
import logging
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress

import click

from cdckit.cli import logs
from cdckit.cli.settings import INTERRUPTED, Settings, common_options
from cdckit.errors import CdcError, ConfigError, numbered
from cdckit.waiting import EndedByStop

COMMANDS = {
    "init": "Write a first pipeline file.",
    "run": "Run a pipeline.",
    "status": "Show whether a pipeline runs, how far it is and how fast.",
    "ui": "Show pipelines as a page for a browser.",
    "top": "Show pipelines in the terminal, those first that are ill.",
    "list": "Show what the pipelines of a folder are at.",
    "validate": "Check a pipeline file, and what it connects to.",
    "doctor": "Tell what is wrong with a pipeline, and what will go wrong.",
    "plugins": "List what is installed.",
    "plugin": "Write a new plugin, or check one.",
    "describe": "Show the options of a source, sink, transform or other component.",
    "schema": "Print the JSON Schema of a pipeline file, for editors; accept changes of definitions.",
    "diff": "Compare what a pipeline's sink holds with its source.",
    "signal": "Tell a running pipeline what to do, such as to read a table again.",
    "resnapshot": "Have tables read again.",
    "offsets": "Show, set, reset or import how far a pipeline has come.",
    "record": "Keep a sample of what a pipeline's source gives.",
    "quarantine": "Show or drop the records that a pipeline could not deliver and has kept.",
    "replay": "Deliver records in quarantine.",
    "transform": "Run a pipeline's transforms on recorded events.",
    "test": "Hold a pipeline's transforms to the cases of its file.",
    "feed": "Deliver recorded events into a pipeline's sink.",
    "archive-classes": "Have Spark start faster on this machine.",
    "completion": "Print the script that completes commands in a shell.",
}
"""The commands, each in the module of its name; a table, so that help imports none of them."""


USAGE = "CDC2001"
"""The number of an error in the words of a command line."""

_ASKS_FOR_HELP: tuple[type[click.ClickException], ...] = tuple(
    filter(None, [getattr(click.exceptions, "NoArgsIsHelpError", None)])
)
"""What a group of commands ends with that is called without one, from click 8.2 on: its text is the help."""
_NAMED_OTHERWISE = {"list": "list_pipelines"}


class Cdc(click.Group):
    """The commands of `cdc` itself and of plugins, loaded one at a time."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands."""
        return [*COMMANDS, *sorted(_plugin_commands())]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, or None."""
        if cmd_name in COMMANDS:
            own = cmd_name.replace("-", "_")
            module = importlib.import_module(f"cdckit.cli.{own}")
            command: click.Command = getattr(module, _NAMED_OTHERWISE.get(cmd_name, own))
            return command
        return _plugin_commands().get(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is meant; of one that is not there the error names one that is called much the same."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches  # noqa: PLC0415 - most calls name a command that is there

            known = self.list_commands(ctx)
            close = [] if args[0] in known else get_close_matches(args[0], known, n=1)
            if close:
                ctx.fail(f"No such command '{args[0]}'. Did you mean '{close[0]}'?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands without loading those of `cdc` itself."""
        more = {name: command.get_short_help_str() for name, command in sorted(_plugin_commands().items())}
        with formatter.section("Commands"):
            formatter.write_dl([*COMMANDS.items(), *more.items()])


def _plugin_commands() -> dict[str, click.Command]:
    from cdckit.api.plugins import commands  # noqa: PLC0415 - most calls need no plugin's command

    return {command.name: command for command in commands() if command.name and command.name not in COMMANDS}


@click.group(cls=Cdc, params=common_options(), context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="cdckit", message="%(package)s %(version)s")
def cdc() -> None:
    """Capture the changes of databases and deliver them as events."""


def main() -> None:
    """The console script: never returns."""
    code = call(sys.argv[1:])
    if EndedByStop.ended:  # Python would join the threads of a client library that wait on
        logging.shutdown()
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        os._exit(code)
    sys.exit(code)


def call(arguments: Sequence[str]) -> int:
    """Runs one command.

    Returns:
        the exit code: 0; 1 unexpected, and no plugin's fault; 2 usage or configuration; 3 source; 4 sink; 5 decode;
        6 transform; 7 state; 130 interrupted.
    """
    settings = Settings()
    try:
        code = cdc.main(list(arguments), prog_name="cdc", standalone_mode=False, obj=settings)
    except click.ClickException as error:
        if isinstance(error, _ASKS_FOR_HELP):
            click.echo(error.format_message(), err=True)
        else:
            _report(error, settings)
        return ConfigError.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or flushing at exit fails again
        return 1
    except Exception as error:  # noqa: BLE001 - the last resort: a message instead of a trace
        # A command whose module cannot be loaded has read none of its own options.
        settings.debug = settings.debug or "--debug" in arguments
        _report(error, settings)
        return (error if isinstance(error, CdcError) else _unexpected(error)).exit_code
    return code if isinstance(code, int) else 0


def _report(error: Exception, settings: Settings) -> None:
    """Says what went wrong on standard error, in the format of the logs."""
    told = _numbered(error)
    if settings.log_format == "json":
        logs.configure("json", settings.log_level)
        problems = [problem for _, problem in told]
        numbers = [number for number, _ in told]
        facts = {"error": type(error).__name__, "number": numbers[0], "numbers": numbers, "problems": problems}
        trace = error if settings.debug else None
        logging.getLogger("cdckit").error("; ".join(problems), extra=facts, exc_info=trace)
        return
    if isinstance(error, click.UsageError) and error.ctx is not None:
        click.echo(error.ctx.get_usage(), err=True)
    for number, problem in told:
        click.secho(f"error {number}: ", err=True, fg="red", bold=True, nl=False)
        click.echo(problem, err=True)
    if settings.debug:
        click.echo("".join(traceback.format_exception(error)), err=True)


def _numbered(error: Exception) -> Sequence[tuple[str, str]]:
    if isinstance(error, click.ClickException):
        return [(USAGE, error.format_message())]
    if isinstance(error, CdcError):
        return numbered(error)
    unexpected = _unexpected(error)
    return [(unexpected.number, f"{unexpected} (--debug or CDC_DEBUG=1 shows where)")]


def _unexpected(error: Exception) -> CdcError:
    from cdckit.engine.blame import unexpected  # noqa: PLC0415 - most calls end well

    return unexpected(error)
