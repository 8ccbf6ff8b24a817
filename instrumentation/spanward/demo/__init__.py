"""The demo: a stub of a model, and an agent that breaks in five ways. The library itself imports nothing of it."""
