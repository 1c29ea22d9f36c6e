"""Variables in a file's values: `${VAR}`, `${VAR:-default}`, and Kafka's own config providers.

`${env:VAR}`, `${file:PATH:KEY}` and `${dir:PATH:KEY}` mean what the config providers do that Kafka ships under these
names (Kafka's documentation, "Configuration Providers"). `$${` stands for a literal `${`.

In a connector's configuration `${NAME}` is no variable for Kafka, but a placeholder that transforms read, such as
`${routedByValue}`: there it is replaced only where the environment has that name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_REFERENCE = re.compile(r"\$(\$\{)|\$\{([^}]*)\}")
_PLACEHOLDERS = frozenset({"database.server.name", "topic.prefix"})
"""What Debezium's own options put in their values' place (`transaction.topic`); the environment has no such names."""
_NAME = re.compile(r"(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL)
_OF_A_PROVIDER = re.compile(r"[\w.-]+:[^:]+:.+", re.DOTALL)
_BARE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class Unresolved(str):
    """A text whose variables could not all be replaced, and why. It matters only if nothing else takes its place."""

    __slots__ = ("problem",)

    def __new__(cls, text: str, problem: str) -> Unresolved:
        """The text as it stands in the file."""
        made = super().__new__(cls, text)
        made.problem = problem
        return made

    problem: str


def substitute(
    tree: Any, environment: Mapping[str, str], *, placeholders: bool = False, folder: Path | None = None
) -> Any:
    """The tree with the variables in its texts replaced; what cannot be is an `Unresolved`.

    Args:
        tree: dicts, lists and texts.
        environment: the variables that there are.
        placeholders: whether a name that the environment lacks is left as it stands, as Kafka Connect does.
        folder: where a provider's relative paths begin; by default the working directory.
    """
    how: dict[str, Any] = {"placeholders": placeholders, "folder": folder}
    if isinstance(tree, dict):
        return {name: substitute(value, environment, **how) for name, value in tree.items()}
    if isinstance(tree, list):
        return [substitute(item, environment, **how) for item in tree]
    try:
        return _REFERENCE.sub(lambda found: _replacement(found, environment, **how), tree)
    except LookupError as error:
        return Unresolved(tree, str(error.args[0]))


def names_left(text: Any) -> list[str]:
    """The names in `${NAME}` that stand in an option's value still."""
    return _BARE.findall(text) if isinstance(text, str) else []


def unresolved(tree: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """The path and the problem of each text left unresolved."""
    if isinstance(tree, Unresolved):
        yield path, tree.problem
    elif isinstance(tree, dict):
        for name, value in tree.items():
            yield from unresolved(value, f"{path}.{name}" if path else name)
    elif isinstance(tree, list):
        for index, item in enumerate(tree):
            yield from unresolved(item, f"{path}.{index}")


def _replacement(found: re.Match[str], environment: Mapping[str, str], placeholders: bool, folder: Path | None) -> str:
    if found[1]:
        return found[1]
    reference = found[2]
    if reference in _PLACEHOLDERS:
        return found[0]
    if variable := _NAME.fullmatch(reference):
        if placeholders and reference == variable[1] and reference not in environment:
            return found[0]
        return _variable(variable[1], variable[2], environment)
    return _from_provider(reference, placeholders, folder or Path())


def _from_provider(reference: str, placeholders: bool, folder: Path) -> str:
    provider, _, rest = reference.partition(":")
    path, _, key = rest.rpartition(":")
    if provider == "file" and path:
        return _from_properties(folder / path, key)
    if provider == "dir" and path:
        return _from_folder(folder / path, key)
    if placeholders and not _OF_A_PROVIDER.fullmatch(reference):
        return f"${{{reference}}}"
    raise LookupError(
        f"${{{reference}}} cannot be resolved: there are ${{VAR}}, ${{VAR:-default}}, ${{env:VAR}}, "
        "${file:PATH:KEY} and ${dir:PATH:KEY}; write $${ for a literal ${"
    )


def _variable(name: str, default: str | None, environment: Mapping[str, str]) -> str:
    value = environment.get(name)
    if default is not None:
        return value or default
    if value is None:
        raise LookupError(
            f"the environment variable {name} is not set; set it, or write ${{{name}:-default}} "
            f"(or $${{{name}}} for the literal text)"
        )
    return value


def _from_properties(path: Path, key: str) -> str:
    import javaproperties  # noqa: PLC0415 - only such a reference needs it

    try:
        properties: dict[str, str] = javaproperties.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise LookupError(f"{path}: {error}") from error
    if key not in properties:
        raise LookupError(f"{path} has no property '{key}'")
    return properties[key]


def _from_folder(folder: Path, key: str) -> str:
    try:
        return (folder / key).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise LookupError(f"{folder / key}: {error}") from error
