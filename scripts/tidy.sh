#!/usr/bin/env bash
# clang-tidy with the checks of .clang-tidy, after the release build.
#
#   scripts/tidy.sh                 the folders that CI looks at
#   scripts/tidy.sh --all           all of src and tools: four seconds a file
#   scripts/tidy.sh PATH...         files, or folders with what is below them
#
# CI looks at what reads foreign bytes and at what decides wiring. It names the
# findings of each file and ends with "N passed, N failed", which counts files.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=build/release
ci_paths=(src/support src/formats/zip src/formats/pickle src/formats/json
  src/formats/tensor src/formats/pt2 src/link src/partition src/verify)

case ${1-} in
  "") paths=("${ci_paths[@]}") ;;
  --all) paths=(src tools) ;;
  *) paths=("$@") ;;
esac
if [ ! -e $build/compile_commands.json ]; then
  echo "tidy.sh: no $build/compile_commands.json: cmake --preset release" >&2
  exit 2
fi

# One file; prints its findings. The compiler's flags are GCC's.
look() {
  log=$(clang-tidy -p "$1" --quiet --extra-arg=-Wno-unknown-warning-option \
    "$2" 2>/dev/null) && return
  printf 'FAIL %s\n%s\n' "$2" "$log"
}
export -f look

mapfile -t files < <(find "${paths[@]}" -name '*.cc' | sort)
found=$(printf '%s\n' "${files[@]}" |
  xargs -P "$(nproc)" -I {} bash -c 'look "$@"' _ $build {})
[ -z "$found" ] || echo "$found"
failed=$(grep -c '^FAIL ' <<<"$found")
echo "$((${#files[@]} - failed)) passed, $failed failed"
[ "$failed" -eq 0 ]
