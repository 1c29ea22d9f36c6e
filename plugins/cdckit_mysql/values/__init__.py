"""Column types: from a column's definition to its Connect schema and to how its values are made.

`column_value(column, options, table_id)` gives a `ColumnValue`; its `schema` is the field's schema with default and
propagated parameters. The generators in `cdckit_mysql.rows` take `ColumnValue`s, one a column.
"""

from cdckit_mysql.values.column import ColumnValue, column_value
from cdckit_mysql.values.options import ValueOptions

__all__ = ["ColumnValue", "ValueOptions", "column_value"]
