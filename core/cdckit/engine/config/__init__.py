"""Configuration: the models of options, and the files that fill them."""
