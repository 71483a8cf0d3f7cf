#!/usr/bin/env bash
# What older releases of PyTorch say about files that Tenon writes for them.
#
#   test/oracle/older.sh TENON SHARED [VERSION...]
#
# For each VERSION (default: 2.6.0 2.7.1 2.8.0 2.9.1) an environment with that
# PyTorch is made once in the cache folder (about 5 GB), and all programs of the
# corpus that this release or an older one exported are written for it
# (`--torch`) and checked by it (corpus.py). Ends with "N passed, N failed".
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tenon=$(realpath "$1")
shared=$(realpath "$2")
shift 2
[ $# -gt 0 ] || set -- 2.6.0 2.7.1 2.8.0 2.9.1

# The interpreter of an environment with that PyTorch.
environment() {
  local dir=${XDG_CACHE_HOME:-$HOME/.cache}/tenon/oracle-torch-$1
  mkdir -p "$dir"
  exec 9>"$dir/.lock"
  flock 9
  if [ ! -e "$dir/.ready" ]; then
    "${PYTHON:-python3}" -m venv "$dir/venv" >&2 || return 1
    "$dir/venv/bin/python" -m pip install -q --no-compile "torch==$1" numpy \
      safetensors >&2 || return 1
    touch "$dir/.ready"
  fi
  exec 9>&-
  echo "$dir/venv/bin/python"
}

# The corpus's folders of releases up to that one.
folders() {
  local folder
  for folder in "$shared"/corpus/pt2/t*/; do
    folder=$(basename "$folder")
    if printf '%s\n' "${folder#t}" "${1%.*}" | sort -VC; then
      echo "$folder"
    fi
  done
}

passed=0
failed=0
for version in "$@"; do
  python=$(environment "$version") || exit 1
  echo "== torch $version"
  log=$(mktemp)
  mapfile -t names < <(folders "$version")
  "$python" -W ignore "$here/corpus.py" "$tenon" "$shared" "${names[@]}" \
    --torch "${version%.*}" | tee "$log"
  read -r p f < <(tail -n 1 "$log" | awk '{print $1 + 0, $3 + 0}')
  rm "$log"
  passed=$((passed + p))
  failed=$((failed + f))
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
