#!/usr/bin/env bash
# Generate proto/spanward_control/v1/control_pb2.{py,pyi}. The generator is pinned to the oldest protobuf that we run on
# (grpcio-tools 1.65.5 = protobuf 5.26.1), in an environment of its own: newer ones make code that older runtimes refuse.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=.components/proto-venv
if [ ! -x "$venv/bin/python" ]; then
  mkdir -p .components
  "${PYTHON:-python3}" -m venv "$venv"
  "$venv/bin/python" -m pip install -q --disable-pip-version-check 'grpcio-tools==1.65.5' 'setuptools<81'
fi
out=proto
[ "${1:-}" = --check ] && out=$(mktemp -d)
"$venv/bin/python" -W ignore -m grpc_tools.protoc -I proto --python_out="$out" --pyi_out="$out" spanward_control/v1/control.proto
if [ "${1:-}" = --check ]; then
  for f in control_pb2.py control_pb2.pyi; do
    cmp -s "$out/spanward_control/v1/$f" "proto/spanward_control/v1/$f" || { echo "$f is stale: run 'make proto'"; exit 1; }
  done
  echo "generated code is fresh"
fi
