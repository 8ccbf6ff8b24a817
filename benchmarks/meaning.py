"""How well the semantic checks tell an answer of a run from an answer of another one, on recorded runs.

    python -m benchmarks.meaning --model .components/semantic a.steps.jsonl.gz:a.traces.jsonl.gz b.steps.jsonl.gz

Each answer is held against the request and the texts of its own run, of a run with another task of the same set, and of
a run of another set. What the first is flagged with is a false alarm, of the other two it is what should be found. Cut
texts count as whole here: recorded sets have hardly any others. One JSON object.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from spanward_detector.evaluate import read_runs
from spanward_detector.evaluate.steps import Recorded, steps_of
from spanward_detector.model import Kind
from spanward_detector.pipeline import Pipeline
from spanward_detector.policy import default
from spanward_detector.sections import SemanticPolicy
from spanward_detector.semantic import Question
from spanward_detector.semantic.checks import SIZE, off_topic, ungrounded
from spanward_detector.semantic.embedder import Embedder, OnnxEmbedder
from spanward_detector.semantic.meaning import Remembering
from spanward_detector.text.answers import matter, request_of
from spanward_detector.text.passages import passages, sentences
from spanward_detector.text.words import subject

PER_RUN = 3
MOST = 60
"""Answers of a run, and of a set, that are looked at."""
OTHERS = ("own", "same set", "other set")


class Answer(NamedTuple):
    """One answer of a recorded run, as a question."""

    of: str
    task: str
    good: bool
    question: Question


def answers_of(run: Recorded, name: str) -> Iterator[Answer]:
    """All texts of models and speakers in a run that call nothing, each with what was known by then."""
    pipeline = Pipeline(default())
    asked = ""
    task = str(run.trace.get("group") or run.trace.get("task") or run.id)
    part = f"{name}/{run.trace.get('subset') or run.trace.get('dataset') or 'all'}"
    for step in sorted(steps_of(run), key=lambda step: (step.start_ns, step.ref.span_id)):
        seen = pipeline.step(step).run
        asked = asked or step.user_input or ""
        request = request_of(step) or asked
        if step.kind in (Kind.LLM, Kind.DECISION) and step.answer and not step.n_calls and request:
            heard = tuple(dict.fromkeys((*seen.memory.heard.texts(), request)))
            system = tuple(text for role, text in step.said if role == "system")[:1]
            about = Question(
                run.id, step.ref, step.index, "", "", step.answer[:8192], request[:4096], system, heard, whole=True
            )
            yield Answer(part, task, run.trace.get("outcome") == "pass", about)


def chosen(found: Sequence[Answer], policy: SemanticPolicy, kind: str) -> list[Answer]:
    """Those that the check looks at, a few of each run, in an order of chance that is always the same."""
    dice, per_run, per_set = random.Random(0), Counter[str](), Counter[str]()
    taken = []
    for answer in dice.sample(found, len(found)):
        about = answer.question
        if kind == "off_topic":
            fits = matter(about.request, about.answer, policy.request_words, policy.answer_words) is not None
        else:
            fits = len(sentences(about.answer, policy.max_sentences)) >= policy.sentences and len(about.heard) > 1
        if fits and per_run[about.run_id] < PER_RUN and per_set[answer.of] < MOST:
            per_run[about.run_id] += 1
            per_set[answer.of] += 1
            taken.append(answer)
    return taken


def nearness(about: Question, embed: Embedder, kind: str, policy: SemanticPolicy) -> float:
    """What the check compares with its threshold, without stopping early: the nearest passage, or the mean of them."""
    texts = (about.request, *about.heard, *about.system) if kind == "off_topic" else about.heard
    given = list(dict.fromkeys(piece for text in texts for piece in passages(text, SIZE)))
    if kind == "off_topic":
        return float((embed(list(passages(about.answer, SIZE))[:8]) @ embed(given).T).max())
    return float((embed(sentences(about.answer, policy.max_sentences)) @ embed(given).T).max(axis=1).mean())


def lexical(about: Question) -> tuple[int, bool]:
    """Words shared with the request, and what the rule ``off_topic`` says without a model."""
    told, asked = subject(about.answer), subject(about.request)
    given = (*about.system, *about.heard[:4])
    return len(told & asked), not told & asked and not any(len(told & subject(text)) * 4 >= len(told) for text in given)


def auc(high: Sequence[float], low: Sequence[float]) -> float | None:
    """Chance that one of the first is higher than one of the second."""
    if not high or not low:
        return None
    wins = sum((a > b) + (a == b) / 2 for a in high for b in low)
    return round(wins / (len(high) * len(low)), 3)


def measure(kind: str, found: Sequence[Answer], policy: SemanticPolicy, embed: Embedder, raw: Embedder) -> Any:
    """Figures of one check."""
    check = off_topic if kind == "off_topic" else ungrounded
    dice = random.Random(1)
    taken = chosen(found, policy, kind)
    rows: list[tuple[Answer, str, float, int, bool, bool]] = []
    cpu_ms: list[float] = []
    for answer in taken:
        same = [o for o in taken if o.of == answer.of and o.task != answer.task]
        other = [o for o in taken if o.of.split("/")[0] != answer.of.split("/")[0]]
        for whose, pool in zip(OTHERS, ([answer], same, other), strict=True):
            if not pool:
                continue
            about = replace(answer.question, answer=dice.choice(pool).question.answer)
            flagged = check(about, policy, embed) is not None
            shared, fires = lexical(about)
            rows.append((answer, whose, nearness(about, embed, kind, policy), shared, fires, flagged))
        started = time.process_time()
        check(answer.question, policy, Remembering(raw))  # nothing of it is remembered
        cpu_ms.append((time.process_time() - started) * 1000)
    cpu_ms.sort()
    parts = {part: _figures([row for row in rows if row[0].of == part], kind) for part in sorted({a.of for a in taken})}
    cost = {"median": round(cpu_ms[len(cpu_ms) // 2], 1), "p95": round(cpu_ms[len(cpu_ms) * 95 // 100], 1)}
    return {"all": _figures(rows, kind), "sets": parts, "cpu_ms_per_answer": cost}


def _figures(rows: Sequence[tuple[Answer, str, float, int, bool, bool]], kind: str) -> dict[str, Any]:
    by = {whose: [row for row in rows if row[1] == whose] for whose in OTHERS}
    good = [row for row in by["own"] if row[0].good]
    out: dict[str, Any] = {"answers": len(by["own"]), "good": len(good), "good_flagged": sum(row[5] for row in good)}
    if kind == "off_topic":
        out["good_flagged_by_words"] = sum(row[4] for row in good)
    for whose, some in by.items():
        out[whose] = {"n": len(some), "flagged": sum(row[5] for row in some)}
        if kind == "off_topic":
            out[whose]["flagged_by_words"] = sum(row[4] for row in some)
            out[whose]["flagged_by_either"] = sum(row[4] or row[5] for row in some)
        if whose != "own":
            out[whose]["auc"] = auc([row[2] for row in by["own"]], [row[2] for row in some])
            if kind == "off_topic":
                out[whose]["auc_of_words"] = auc([row[3] for row in by["own"]], [row[3] for row in some])
    return out


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description="Semantic checks on recorded runs.")
    parser.add_argument("--model", type=Path, required=True, help="folder with model.onnx and tokenizer.json")
    parser.add_argument("sets", nargs="+", help="STEPS or STEPS:TRACES")
    given = parser.parse_args()
    found: list[Answer] = []
    for one in given.sets:
        steps, _, traces = one.partition(":")
        for run in read_runs(Path(steps), Path(traces) if traces else None):
            found += answers_of(run, Path(steps).name.partition(".")[0])
    raw, policy = OnnxEmbedder(given.model), SemanticPolicy()
    embed = Remembering(raw, 1 << 20)
    figures = {kind: measure(kind, found, policy, embed, raw) for kind in ("off_topic", "ungrounded")}
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
