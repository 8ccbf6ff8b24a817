"""One target in a process of its own: what kills or blocks it does so here, and the runner sees it."""

from __future__ import annotations

import faulthandler
import hashlib
import json
import mmap
import os
import signal
import struct
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

from fuzz.mutate import MAX_INPUT, mutate_bytes

if TYPE_CHECKING:
    from fuzz.target import Target

HANG_S: Final = 1.0
"""Processor time that one input may take: the machine is not always ours alone."""
_SLOT: Final = struct.Struct("<QQ")
SLOT_BYTES: Final = 8 * MAX_INPUT
_KEPT: Final = 3
"""Inputs that are kept of one fault."""
_TOLD_S: Final = 0.5
_OURS: Final = 0.8
"""Share of the changes that know the form of the input; the others are libFuzzer's own."""
_ROOT: Final = Path(__file__).resolve().parent.parent


class Slot:
    """The input at hand, where it outlives the process: how many there have been, its length, its bytes."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        if create:
            path.write_bytes(bytes(SLOT_BYTES))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), SLOT_BYTES)

    def put(self, number: int, data: bytes) -> None:
        """Note that this input is next."""
        data = data[: SLOT_BYTES - _SLOT.size]
        self._map[: _SLOT.size] = _SLOT.pack(number, len(data))
        self._map[_SLOT.size : _SLOT.size + len(data)] = data

    def get(self) -> tuple[int, bytes]:
        """Number and bytes of the input at hand."""
        number, size = _SLOT.unpack(self._map[: _SLOT.size])
        return number, self._map[_SLOT.size : _SLOT.size + size]


def where(error: BaseException) -> str:
    """What was raised, and the last place of ours on the way there."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if f.filename.startswith(str(_ROOT)) and ".venv" not in f.filename] or frames
    place = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "?"
    said = f" {error}"[:200] if isinstance(error, AssertionError) else ""
    return f"{type(error).__name__} at {place}{said}"


class Probe:
    """Gives inputs to a target and keeps count.

    Args:
        target: takes them.
        before: told of each input before it is given.

    Attributes:
        inputs: given so far.
        refused: of them, those that the target said no to.
        slowest_ms: processor time of the slowest one.
        faults: name of a fault -> how often.
    """

    def __init__(self, target: Target, before: Callable[[int, bytes], None] = lambda _number, _data: None) -> None:
        self.target = target
        self.inputs = 0
        self.refused = 0
        self.slowest_ms = 0.0
        self.slowest = b""
        self.faults: Counter[str] = Counter()
        self._before = before

    def give(self, data: bytes) -> tuple[str, str]:
        """Give one input.

        Returns:
            Name and traceback of the fault; ("", "") when there was none.
        """
        self.inputs += 1
        self._before(self.inputs, data)
        fault = told = ""
        started = time.process_time()
        try:
            self.target.run(data)
        except self.target.refusals:
            self.refused += 1
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a panic of compiled code is no Exception
            fault, told = where(error), traceback.format_exc()
        took = time.process_time() - started
        if took * 1000 > self.slowest_ms:
            self.slowest_ms, self.slowest = took * 1000, data
        if not fault and took > HANG_S:
            fault = f"hang of {round(took)} s"
        if fault:
            self.faults[fault] += 1
        return fault, told


def mutants(target: Target, rng: Random) -> Iterator[bytes]:
    """The seeds as they are, then endlessly what becomes of them; also of what has become of them."""
    seeds = target.seeds()
    yield from seeds
    recent = list(seeds)
    while True:
        base = rng.choice(seeds) if rng.random() < 0.7 else rng.choice(recent)
        made = target.mutate(base, rng)
        recent[rng.randrange(len(recent))] = made if len(made) <= MAX_INPUT // 8 else base
        yield made


class _Session:
    """A probe that tells the runner on standard output, and stops in time."""

    def __init__(self, target: Target, slot: Slot, folder: Path, seconds: float) -> None:
        self.probe = Probe(target, slot.put)
        self._folder = folder
        self._ends = time.monotonic() + seconds
        self._tells = 0.0

    def one(self, data: bytes) -> None:
        fault, told = self.probe.give(bytes(data))
        if fault and self.probe.faults[fault] <= _KEPT:
            name = f"{self.probe.target.name}-{hashlib.sha256(data).hexdigest()[:12]}"
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / f"{name}.bin").write_bytes(data)
            (self._folder / f"{name}.txt").write_text(f"{fault}\n\n{told}", encoding="utf-8", errors="replace")
        now = time.monotonic()
        if now >= self._tells or fault:
            self._tells = now + _TOLD_S
            self.tell()
        if now >= self._ends:
            self.tell(over=True)
            sys.stdout.flush()
            os._exit(0)

    def tell(self, *, over: bool = False) -> None:
        probe = self.probe
        said = {
            "inputs": probe.inputs, "refused": probe.refused, "slowest_ms": round(probe.slowest_ms, 1),
            "faults": dict(probe.faults), "over": over,
        }  # fmt: skip
        print(json.dumps(said), flush=True)
        if over and probe.slowest:
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / f"{probe.target.name}-slowest.bin").write_bytes(probe.slowest)


def _target(name: str, engine: str) -> Target:
    if engine == "atheris":
        import atheris

        # Only what is imported in here is watched: new paths through our code are what it looks for.
        with atheris.instrument_imports(include=["spanward", "spanward_detector"], enable_loader_override=False):
            from fuzz.targets import BY_NAME
    else:
        from fuzz.targets import BY_NAME
    return BY_NAME[name]


def _guided(session: _Session, target: Target, corpus: Path, seed: int) -> None:
    """Let libFuzzer choose: it keeps what reaches new code."""
    import atheris

    corpus.mkdir(parents=True, exist_ok=True)
    for data in target.seeds():
        (corpus / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)

    def mutate(data: bytes, max_size: int, at: int) -> bytes:
        rng = Random(at)
        if rng.random() < _OURS:
            return target.mutate(data, rng)[:max_size]
        return bytes(atheris.Mutate(data, max_size)) if rng.random() < 0.7 else mutate_bytes(data, rng)[:max_size]

    flags = [
        f"-seed={seed}",
        f"-max_len={MAX_INPUT}",
        "-timeout=3600",
        "-mutate_depth=2",
        "-rss_limit_mb=4096",
        "-print_final_stats=0",
    ]
    atheris.Setup(["fuzz", *flags, str(corpus)], session.one, custom_mutator=mutate, internal_libfuzzer=True)
    atheris.Fuzz()


def main(arguments: list[str]) -> None:
    """Run one target; called by the runner."""
    given: dict[str, Any] = json.loads(arguments[0])
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    folder = Path(given["folder"])
    target = _target(given["target"], given["engine"])
    session = _Session(target, Slot(Path(given["slot"])), folder, given["seconds"])
    session.tell()
    if given["engine"] == "atheris":
        _guided(session, target, folder / "corpus" / target.name, given["seed"])
    else:
        for data in mutants(target, Random(given["seed"])):
            session.one(data)


if __name__ == "__main__":
    main(sys.argv[1:])
