#!/usr/bin/env bash
# Installs a build into a scratch folder and uses it as a stranger would: the
# examples are configured, built and run against what was installed.
#
#   test/package/from_outside.sh BUILD_DIR
set -euo pipefail
build=$(realpath "$1")
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cmake --install "$build" --prefix "$scratch/first" >"$scratch/log" ||
  { cat "$scratch/log"; exit 1; }
# A package that knows where it was installed would fail behind the move.
mv "$scratch/first" "$scratch/moved"
if grep -rlF -e "$root" -e "$build" -e "$scratch/first" \
    "$scratch/moved/include" "$scratch/moved/lib/cmake"; then
  echo "the files above name folders of this machine"
  exit 1
fi
cmake -S "$root/examples" -B "$scratch/build" \
  -DCMAKE_PREFIX_PATH="$scratch/moved" -DCMAKE_BUILD_TYPE=Debug \
  >"$scratch/log" || { cat "$scratch/log"; exit 1; }
cmake --build "$scratch/build" -j 2 >"$scratch/log" ||
  { cat "$scratch/log"; exit 1; }

# Two programs, three ways: C++ over the shared library, over the static one,
# and C. All threads give what the tool gives.
model=$root/test/data/pt2/mlp.pt2
signature=$("$scratch/moved/bin/tenon" info "$model" |
  sed -n 's/^call: *//p')
shared=$("$scratch/build/call_model" "$model" cpu)
static=$("$scratch/build/call_model_static" "$model" cpu)
from_c=$("$scratch/build/call_from_c" "$model")
echo "$shared"
grep -qF "$signature" <<<"$shared"
grep -qF "$signature" <<<"$from_c"
[ "$shared" = "$static" ]
[ "$(tail -n 4 <<<"$shared" | sort -u | wc -l)" = 1 ]
number=$(tail -n 1 <<<"$shared")
[ "${number%?}" = "$(sed -n 2p <<<"$from_c" | sed 's/.$//')" ]

# Nothing but the public interface can be seen.
others=$(nm -DC --defined-only "$scratch/moved/lib/libtenon.so" |
  awk '{$1 = $2 = ""; print}' |
  grep -vE '^ +(tenon_|tenon::(Model|Runner|BackendNames|Version))' || true)
if [ -n "$others" ]; then
  echo "libtenon.so shows more than include/tenon:"
  head <<<"$others"
  exit 1
fi
if "$scratch/build/call_model" "$scratch/no-such-file.pt2" 2>"$scratch/log"; then
  exit 1
fi
grep -q 'T-IO' "$scratch/log"
