"""Hostile input for everything that parses: ``python -m fuzz --help``, ``make fuzz``."""
