#!/usr/bin/env bash
# Runs exported files in the stock TensorRT and CUDA delegates, on a machine
# without GPU: the public wheel torch-tensorrt-executorch-runtime, unmodified,
# under doubles of the CUDA runtime and of TensorRT.
#
#   test/stock/run.sh BUILD SHARED
#
# SHARED is the project's neighbour with the environments' recipe. The wheel is
# fetched once into the cache. Ends with "N passed, N failed".
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(realpath "$1")
shared=$(realpath "$2")
version=0.1.0

python=$("$shared"/oracle/setup.sh torch) || exit 1
cache=${XDG_CACHE_HOME:-$HOME/.cache}/tenon/stock-runtime-$version
mkdir -p "$cache"
exec 9>"$cache/.lock"
flock 9
if [ ! -e "$cache/.ready" ]; then
  "$python" -m pip download -q --no-deps -d "$cache" \
    torch-tensorrt-executorch-runtime==$version &&
    "$python" -m zipfile -e "$cache"/*.whl "$cache/wheel" || exit 1
  touch "$cache/.ready"
fi
flock -u 9

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" "$here/check.py" "$build" "$cache/wheel" "$work" \
  "$shared/doubles/samples"
