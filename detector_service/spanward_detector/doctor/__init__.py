"""Which rules can fire on some telemetry, which cannot, and the setting that changes it."""

from spanward_detector.doctor.census import Census
from spanward_detector.doctor.diagnose import Diagnosis, Report, as_json, report, with_deadlines
from spanward_detector.doctor.needs import NEEDS, Needs, Standing, Status
from spanward_detector.doctor.read import kept, take
from spanward_detector.doctor.signals import SIGNS, Presence, Signal

__all__ = [
    "NEEDS",
    "SIGNS",
    "Census",
    "Diagnosis",
    "Needs",
    "Presence",
    "Report",
    "Signal",
    "Standing",
    "Status",
    "as_json",
    "kept",
    "report",
    "take",
    "with_deadlines",
]
