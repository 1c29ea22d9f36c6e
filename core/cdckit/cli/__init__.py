"""The command `cdc`: one module for each of its commands, loaded when it is called."""
