"""Profiles of the property tests: the same examples each time on any machine; ``make fuzz`` looks for new ones.

``--hypothesis-profile=quick`` is the everyday loop's.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("steady", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")
settings.register_profile("quick", settings.get_profile("steady"), max_examples=20)
