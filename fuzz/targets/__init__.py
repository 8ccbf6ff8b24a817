"""Everything that reads what somebody else wrote, each as a function of bytes."""

from __future__ import annotations

from typing import Final

from fuzz.target import Target
from fuzz.targets import control, ingest, rules, texts

TARGETS: Final[tuple[Target, ...]] = (*ingest.TARGETS, *texts.TARGETS, *rules.TARGETS, *control.TARGETS)
BY_NAME: Final = {target.name: target for target in TARGETS}
