"""The structure that the design page promises, held against the code."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {
    "spanward": ROOT / "instrumentation" / "spanward",
    "spanward_detector": ROOT / "detector_service" / "spanward_detector",
}
PURE = {"spanward.semconv", "spanward.facts", "spanward.repair", "spanward.feedback"}
PROTOBUF_EDGES = {"ingest", "control", "emit", "control_client", "sender", "wire_codec", "spans"}


def modules(package: str) -> Iterator[Path]:
    """Source files of a package."""
    return (p for p in PACKAGES[package].rglob("*.py") if "__pycache__" not in p.parts)


def imports(path: Path) -> set[str]:
    """Every absolute module name that a file imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.update({node.module, *(f"{node.module}.{alias.name}" for alias in node.names)})
    return found


def test_the_instrumentation_never_imports_the_detector() -> None:
    """Imports go one way: nothing in ``spanward`` names ``spanward_detector``."""
    wrong = [str(p) for p in modules("spanward") if any(i.startswith("spanward_detector") for i in imports(p))]

    assert wrong == []


def test_the_detector_imports_only_the_pure_parts_of_the_instrumentation() -> None:
    """The detector shares facts, repairs, feedback and names with the gate, and nothing else."""
    wrong = {}
    for path in modules("spanward_detector"):
        names = {i for i in imports(path) if i == "spanward" or i.startswith("spanward.")}
        foreign = {n for n in names - {"spanward"} if not any(n == p or n.startswith(f"{p}.") for p in PURE)}
        if foreign:
            wrong[str(path.relative_to(ROOT))] = foreign

    assert wrong == {}


def test_protobuf_stops_at_the_edges() -> None:
    """Generated classes are imported only where bytes come in or go out."""
    wrong = []
    for package in PACKAGES:
        for path in modules(package):
            parts = path.relative_to(PACKAGES[package]).with_suffix("").parts
            if any("_pb2" in i or i.startswith("google.protobuf") for i in imports(path)) and not (
                PROTOBUF_EDGES & set(parts)
            ):
                wrong.append(str(path.relative_to(ROOT)))

    assert wrong == []


def test_importing_spanward_is_light() -> None:
    """``import spanward`` brings in neither gRPC nor the OpenTelemetry SDK: it lives in other people's start-up."""
    code = (
        "import sys, spanward; heavy = {'grpc', 'opentelemetry', 'google'}; "
        "print(sorted(heavy & {m.split('.')[0] for m in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "path", sorted(p for k in PACKAGES for p in modules(k)), ids=lambda p: str(p.relative_to(ROOT))
)
def test_no_file_is_too_long_to_read(path: Path) -> None:
    """Files stay under 400 lines."""
    assert path.read_text(encoding="utf-8").count("\n") <= 400


def test_genai_names_are_never_invented_and_keys_are_spelled_once() -> None:
    """Keys under ``spanward.`` are written in semconv.py and nowhere else in the packages."""
    wrong = []
    for package in PACKAGES:
        for path in modules(package):
            if path.name == "semconv.py":
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if (
                    isinstance(node, ast.Constant)
                    and isinstance(node.value, str)
                    and re.fullmatch(
                        r"spanward\.(run|step|tool|facts|finding|failure|directive|payload|result)\.[a-z._]+",
                        node.value,
                    )
                ):
                    wrong.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.value}")  # noqa: PERF401

    assert wrong == []


def test_every_test_says_in_a_sentence_what_holds() -> None:
    """Test functions have docstrings that end like sentences."""
    silent = []
    for path in (ROOT / "tests").rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                doc = ast.get_docstring(node)
                if not doc or doc.rstrip()[-1] not in ".!?":
                    silent.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}")

    assert silent == []


def test_sources_name_no_machine() -> None:
    """No absolute path of a build machine stands in a tracked file."""
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    pattern = re.compile(r"(?<!\w)/(?:work|farm)/|(?<!\w)/root/|(?<!\w)/home/[a-z]+/")
    wrong = [
        f for f in files
        if f != "tests/test_architecture.py"
        and (ROOT / f).is_file()
        and (ROOT / f).suffix not in {".gz", ".pb", ".png"}
        and pattern.search((ROOT / f).read_text(encoding="utf-8", errors="replace"))
    ]  # fmt: skip

    assert wrong == []
