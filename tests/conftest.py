"""Profiles of the property tests: ``--hypothesis-profile=quick`` is the everyday loop's."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("quick", max_examples=20)
