"""What people write for the detector: policies, expressions, patterns; and what a judge answers."""

from __future__ import annotations

from typing import Final

from spanward.facts.allow import ArgumentRule, PatternError, first_forbidden, limits_of
from spanward_detector.cel_rules import CelError
from spanward_detector.control import codec as detector_codec
from spanward_detector.detectors.custom import Custom
from spanward_detector.judge import read_opinion
from spanward_detector.model import Kind, SpanRef, Step
from spanward_detector.pipeline import Pipeline
from spanward_detector.policy import PolicyError, load
from spanward_detector.policy.lint import lint
from spanward_detector.runs import Runs
from spanward_detector.sections import CustomRule

from fuzz import seeds
from fuzz.mutate import mutate_json
from fuzz.target import Target, as_text, in_two, pairs, promise, text_of


def _policy(data: bytes) -> None:
    text = text_of(data)
    lint(text)
    policy = load(text)
    Pipeline(policy)
    detector_codec.policy(policy).SerializeToString()


def _cel(data: bytes) -> None:
    source, _, content = data.partition(b"\x00")
    ref = SpanRef("1" * 32, "2" * 16)
    text = text_of(content)
    step = Step(
        Kind.TOOL, ref, None, "r", 1, 2, "spanward", "", "x", action="a", arguments=text, result=text, answer=text
    )
    run = Runs().update(step)
    for detector in Custom.each((CustomRule(name="fuzz", when=text_of(source)),)):
        detector.observe(step, run)


def _pattern(data: bytes) -> None:
    pattern, _, text = text_of(data).partition("\0")
    first_forbidden({"x": text}, limits_of({"x": ArgumentRule((f"/{pattern}/",))}))


def _opinion(data: bytes) -> None:
    said = read_opinion(data)
    promise(0 <= said.confidence <= 1, "confidence is from 0 to 1")


TARGETS: Final = (
    Target("policy", _policy, seeds.policies, as_text, (PolicyError,)),
    Target(
        "cel", _cel, lambda: pairs(seeds.CEL, seeds.CEL_DATA, b"\0"), in_two(b"\0", as_text, mutate_json), (CelError,)
    ),
    Target("patterns", _pattern, lambda: (b"a.*b\0aab", b"(a|b)+\\d{2,9}\0x"), as_text, (PatternError,)),
    Target("opinion", _opinion, lambda: seeds.OPINIONS, mutate_json, (ValueError,)),
)
