"""Plugins for cdckit as a third party writes them."""
