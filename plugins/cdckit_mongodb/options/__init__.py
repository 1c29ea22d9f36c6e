"""The options of the source by what they are about, a model each; `config` puts them together."""
