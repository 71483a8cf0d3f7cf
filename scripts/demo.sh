#!/usr/bin/env bash
# The main job on a real program: a GPT-2 that PyTorch exported. Installs what
# is missing, builds, then reads, verifies, cuts the program up over two
# backends, compiles, joins, proves, writes, opens the result again, runs it,
# and puts its results beside those that PyTorch recorded. No Python involved.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=build/release
program=test/data/pt2/gpt2.pt2

scripts/setup.sh
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if [ ! -x $build/tenon ] || [ ! -x $build/conformance ]; then
  echo "building (minutes on the first run)"
fi
if ! { cmake --preset release && cmake --build --preset release -j "$(nproc)" \
    --target tenon conformance; } >"$log" 2>&1; then
  cat "$log"
  exit 1
fi

# Shows a command and its output.
run() {
  echo
  echo "\$ $*"
  "$@"
}
tenon() { "$build/tenon" "$@"; }
conformance() { "$build/conformance" "$@"; }

mkdir -p build/demo
hybrid=build/demo/gpt2.hybrid.pt2
run tenon info $program
run tenon verify $program
# Backend cpu would take nearly all; layer norms are kept from it, so that the
# second backend has something to do and values cross between the two.
run tenon export $program -o $hybrid --backend cpu --backend echo \
  --deny cpu:aten.layer_norm
run tenon verify $hybrid
run tenon prove $program $hybrid
run conformance show test/data/manifest.json --filter gpt2 --program $hybrid
