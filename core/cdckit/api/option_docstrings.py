"""The descriptions of options: docstrings below the fields of their models.

They are read from the source where somebody asks. Pydantic's `use_attribute_docstrings` reads them while a model is
made, which takes a third of the time in which a pipeline's modules are imported.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from functools import cache
from itertools import zip_longest

from pydantic import BaseModel


def describe(model: type[BaseModel]) -> None:
    """Gives the model's fields their docstrings as descriptions, where they have none yet."""
    texts = _docstrings(model)
    for name, field in model.model_fields.items():
        if field.description is None:
            field.description = texts.get(name)
    model.model_rebuild(force=True)


def _docstrings(model: type[BaseModel]) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for base in reversed(model.__mro__):
        if issubclass(base, BaseModel):
            found |= _declared(base)
    return found


@cache
def _declared(model: type[BaseModel]) -> dict[str, str | None]:
    """Each field that a class itself declares; none where its source is not to be had."""
    try:
        [definition] = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    except (OSError, TypeError):
        return {}
    assert isinstance(definition, ast.ClassDef)
    parts = zip_longest(definition.body, definition.body[1:])
    return {
        part.target.id: _text(behind)
        for part, behind in parts
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
    }


def _text(part: ast.stmt | None) -> str | None:
    """What a statement that is a docstring says."""
    if isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant) and isinstance(part.value.value, str):
        return inspect.cleandoc(part.value.value)
    return None
