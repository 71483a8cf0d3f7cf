#!/usr/bin/env bash
# The Python package against real PyTorch.
#
#   test/oracle/python.sh [SHARED [ORACLE...]]
#
# Makes an environment on top of an oracle's (torch: PyTorch 2.15; upstream:
# PyTorch 2.14.1), installs python/ into it with pip, and runs python/tests: the
# five classic failures and the hybrid corpus, compared with eager execution.
# SHARED defaults to ../shared beside the repository, ORACLE to torch. Ends with
# pytest's summary line.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repo=$(realpath "$here/../..")
shared=$(realpath "${1:-$repo/../shared}")
shift || true
[ $# -gt 0 ] || set -- torch

for oracle in "$@"; do
  base=$("$shared/oracle/setup.sh" "$oracle")
  venv=${XDG_CACHE_HOME:-$HOME/.cache}/tenon/python-$oracle
  if [ ! -e "$venv/.ready" ]; then
    "$base" -m venv "$venv"
    # Sees the oracle's packages without changing them.
    site='import sysconfig; print(sysconfig.get_path("purelib"))'
    "$base" -c "$site" >"$("$venv/bin/python" -c "$site")/oracle.pth"
    "$venv/bin/python" -m pip install -q pytest scikit-build-core nanobind >&2
    touch "$venv/.ready"
  fi
  # The build folder stays, so that a second run compiles what changed. It is
  # the checkout's own: two clones don't share one.
  build=$repo/build/python-$oracle
  "$venv/bin/python" -m pip install -q --force-reinstall --no-deps \
    --no-build-isolation -C build-dir="$build" "$repo/python" >&2
  (cd "$repo/python" &&
    TENON_SHARED=$shared "$venv/bin/python" -m pytest -q -p no:cacheprovider \
      tests)
done
