#!/usr/bin/env bash
# Random hybrid graphs at any seed: made by the corpus's own script, with results
# from eager PyTorch, then joined, run and written by Tenon.
#
#   test/oracle/random_hybrids.sh BUILD SHARED [COUNT [SEED]]
#
# BUILD holds `conformance`. Defaults: 1000 graphs, seed 1. Ends with
# "N passed, N failed, N skipped".
set -euo pipefail
build=$(realpath "$1")
shared=$(realpath "$2")
count=${3:-1000}
seed=${4:-1}
python=$("$shared/oracle/setup.sh" torch)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "seed $seed, $count graphs"
(cd "$shared/corpus/hybrid/tools" &&
  PYTHONDONTWRITEBYTECODE=1 "$python" make_random.py "$seed" "$count" "$work")
"$build/conformance" hybrid "$work"
