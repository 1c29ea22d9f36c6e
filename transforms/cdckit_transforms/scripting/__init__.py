"""Expressions of Groovy and JavaScript about records, as Debezium's Filter and ContentBasedRouter take them.

A text is read once (`tokens`, `parser`, `syntax`) and becomes functions (`compiler`, `fields`); what its operators and
methods mean is the language's (`groovy`, `javascript`). No text of a user's is run as Python.
"""
