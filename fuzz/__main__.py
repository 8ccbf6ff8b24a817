"""Runs the targets one after another, each for its share of the time, and says what broke.

python -m fuzz --seconds 600
python -m fuzz --target cel --seconds 60 --engine mutate --seed 7
python -m fuzz --target cel --input fuzz/findings/cel-0123456789ab.bin
"""

from __future__ import annotations

import argparse
import base64
import importlib.util
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, Final

from fuzz.worker import HANG_S, Probe, Slot

FOLDER: Final = Path(__file__).resolve().parent / "findings"
_STUCK_S: Final = 20.0
"""An input that has not ended after so long is ended with its process."""
_START_S: Final = 120.0
_SHOWN: Final = 200


@dataclass
class Result:
    """What became of one target.

    Attributes:
        inputs: given to it.
        refused: of them, those that it said no to.
        slowest_ms: processor time of the slowest one.
        crashes: fault -> how often: exceptions that it does not declare, broken promises, deaths of the process.
        hangs: the same for inputs that took longer than a second.
    """

    target: str
    inputs: int = 0
    refused: int = 0
    slowest_ms: float = 0.0
    crashes: dict[str, int] = field(default_factory=dict)
    hangs: dict[str, int] = field(default_factory=dict)

    def add(self, faults: dict[str, int]) -> None:
        for fault, times in faults.items():
            kind = self.hangs if fault.startswith("hang") else self.crashes
            kind[fault] = kind.get(fault, 0) + times


def _names() -> list[str]:
    from fuzz.targets import BY_NAME

    return list(BY_NAME)


def _lines(stream: IO[bytes], slot: Slot, stuck: list[bool]) -> Iterator[dict[str, Any]]:
    """What a worker says, until it ends or is stuck on one input."""
    number, since, waiting = -1, time.monotonic(), b""
    while True:
        ready, _, _ = select.select([stream], [], [], 0.5)
        if ready:
            piece = os.read(stream.fileno(), 1 << 16)
            if not piece:
                return
            *whole, waiting = (waiting + piece).split(b"\n")
            yield from (json.loads(line) for line in whole if line.startswith(b"{"))
        at = slot.get()[0]
        if at != number:
            number, since = at, time.monotonic()
        elif time.monotonic() - since > (_STUCK_S if at else _START_S):
            stuck.append(True)
            return


def _work(target: str, engine: str, seconds: float, seed: int, log: Path, show: Any) -> Result:
    """One target; a new process for what is left of the time after each death."""
    result = Result(target)
    ends: float | None = None
    while ends is None or time.monotonic() < ends:
        left = seconds if ends is None else ends - time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            slot_file = Path(folder) / "slot"
            slot = Slot(slot_file, create=True)
            given = {
                "target": target, "engine": engine, "seconds": left, "seed": seed, "slot": str(slot_file),
                "folder": str(FOLDER),
            }  # fmt: skip
            command = [sys.executable, "-m", "fuzz.worker", json.dumps(given)]
            last: dict[str, Any] = {}
            stuck: list[bool] = []
            with log.open("ab") as errors, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors) as worker:
                assert worker.stdout is not None
                for last in _lines(worker.stdout, slot, stuck):
                    if ends is None:
                        ends = time.monotonic() + seconds
                    show(result, last)
                if stuck:
                    worker.send_signal(signal.SIGUSR1)  # its stack goes to the log
                    time.sleep(0.2)
                    worker.kill()
            result.inputs += last.get("inputs", 0)
            result.refused += last.get("refused", 0)
            result.slowest_ms = max(result.slowest_ms, last.get("slowest_ms", 0.0))
            result.add(last.get("faults", {}))
            if last.get("over"):
                return result
            _died(result, slot, worker.returncode, stuck=bool(stuck))
            seed += 1
            if ends is None:
                return result
    return result


def _died(result: Result, slot: Slot, code: int, *, stuck: bool) -> None:
    number, data = slot.get()
    fault = f"hang of more than {_STUCK_S:.0f} s" if stuck else f"death of the process: {code}"
    result.add({fault: 1})
    FOLDER.mkdir(parents=True, exist_ok=True)
    file = FOLDER / f"{result.target}-death-{number}.bin"
    file.write_bytes(data)
    sys.stderr.write(f"\n{result.target}: {fault}; input {base64.b64encode(data[:_SHOWN]).decode()} in {file}\n")


def _line(result: Result, tty: bool) -> str:
    begin = "\r" if tty else ""
    faults = " ".join(f"{fault} x{times}" for fault, times in {**result.crashes, **result.hangs}.items())
    figures = f"{result.inputs:>9,} inputs  {result.refused:>9,} refused  slowest {result.slowest_ms:7.1f} ms"
    return (
        f"{begin}{result.target:14} {figures}  {faults}\x1b[K\n" if tty else f"{result.target:14} {figures}  {faults}\n"
    )


def _confirmed(result: Result) -> None:
    """Takes hangs back that are none without the counters that the guided engine puts into every line."""
    for fault in [fault for fault in result.hangs if "more than" not in fault]:
        files = [file for file in FOLDER.glob(f"{result.target}-*.txt") if file.read_text().startswith(fault)]
        again = [sys.executable, "-m", "fuzz", "--target", result.target, "--input"]
        if not any(
            subprocess.run([*again, f.with_suffix(".bin")], capture_output=True, check=False).returncode for f in files
        ):
            del result.hangs[fault]


def _replay(target: str, file: Path) -> int:
    from fuzz.targets import BY_NAME

    Probe(BY_NAME[target]).give(BY_NAME[target].seeds()[0])  # what is imported and compiled once is not the input's
    probe = Probe(BY_NAME[target])
    fault, told = probe.give(file.read_bytes())
    sys.stdout.write(f"{told}{fault or 'no fault'}; {probe.slowest_ms:.1f} ms\n")
    return bool(fault)


def _engine(wanted: str) -> str:
    has = importlib.util.find_spec("atheris") is not None
    if wanted == "atheris" and not has:
        sys.exit("atheris is not installed: pip install 'spanward[fuzz]', or --engine mutate")
    return wanted if wanted != "auto" else "atheris" if has else "mutate"


def main() -> int:
    """Exit status 1 when anything broke."""
    parser = argparse.ArgumentParser(
        "python -m fuzz", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=600, help="for all targets together (default 600)")
    parser.add_argument(
        "--target", action="append", choices=_names(), help="only this one; may be given more than once"
    )
    parser.add_argument("--engine", choices=("auto", "atheris", "mutate"), default="auto")
    parser.add_argument("--seed", type=int, default=1, help="of the random generator")
    parser.add_argument("--json", action="store_true", help="print a summary as JSON on standard output")
    parser.add_argument("--input", type=Path, help="give this one input to the target, and show what happens")
    args = parser.parse_args()
    if args.input is not None:
        return _replay((args.target or _names())[0], args.input)
    targets, engine = args.target or _names(), _engine(args.engine)
    FOLDER.mkdir(parents=True, exist_ok=True)
    results: list[Result] = []
    log, share = FOLDER / "log.txt", args.seconds / len(targets)
    tty = sys.stderr.isatty()

    def show(result: Result, said: dict[str, Any]) -> None:
        if tty:
            total, faults = result.inputs + said["inputs"], sum(said["faults"].values())
            line = f"{len(results) + 1}/{len(targets)} {result.target:14} {total:>9,} inputs  {faults} faults"
            sys.stderr.write(f"\r{line}  slowest {said['slowest_ms']:.0f} ms\x1b[K")

    for name in targets:
        result = _work(name, engine, share, args.seed, log, show)
        if engine == "atheris":
            _confirmed(result)
        results.append(result)
        sys.stderr.write(_line(result, tty))
        sys.stderr.flush()
    if args.json:
        summary = {"engine": engine, "seconds": args.seconds, "hang_s": HANG_S, "targets": [asdict(r) for r in results]}
        sys.stdout.write(json.dumps(summary, indent=1) + "\n")
    broken = [result for result in results if result.crashes or result.hangs or not result.inputs]
    if broken:
        sys.stderr.write(f"{len(broken)} of {len(results)} targets broke; inputs and tracebacks are in {FOLDER}\n")
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
