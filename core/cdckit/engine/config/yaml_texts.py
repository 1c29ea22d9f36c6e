"""YAML whose scalars stay the texts that they are in the file, and whose keys stand there once."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import yaml

NULL = "tag:yaml.org,2002:null"
_MOST_MERGED = 10_000
"""So many keys a mapping may take over by `<<`: one that takes over two of the kind doubles them."""


class TextLoader(yaml.SafeLoader):
    """Reads every plain scalar as text, but for null."""

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag in (NULL, "tag:yaml.org,2002:merge")]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """A dict.

        Raises:
            yaml.constructor.ConstructorError: a key stands there twice, with its place.
        """
        seen: set[str] = set()
        for key, _ in node.value:
            if key.value == "<<":
                continue
            if key.value in seen:
                problem = f"'{key.value}' stands there twice; keep one"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Takes over the keys of merged mappings.

        Raises:
            yaml.constructor.ConstructorError: there are more than any pipeline has.
        """
        super().flatten_mapping(node)
        if len(node.value) > _MOST_MERGED:
            problem = f"more than {_MOST_MERGED} keys are merged here"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
