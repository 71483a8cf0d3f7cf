#!/usr/bin/env bash
# Lays out all C++ with clang-format, or says which files aren't.
#
#   scripts/format.sh           rewrites the files
#   scripts/format.sh --check   changes nothing; status 1 when a file would
#                               change; ends with "N passed, N failed"
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mapfile -t files < <(git ls-files 'src/*.cc' 'src/*.h' 'tools/*.cc' \
  'tools/*.h' 'test/*.cc' 'test/*.h' 'bench/*.cc' 'bench/*.h' 'include/*.h' \
  'python/*.cc' 'python/*.h' 'executorch/*.cc' 'cuda/*.cc' 'cuda/*.h' 'examples/*.cc' 'examples/*.h')
if [ "${1-}" != --check ]; then
  clang-format -i "${files[@]}"
  exit
fi
failed=0
for file in "${files[@]}"; do
  if ! clang-format "$file" | cmp -s - "$file"; then
    echo "FAIL $file: run scripts/format.sh"
    failed=$((failed + 1))
  fi
done
echo "$((${#files[@]} - failed)) passed, $failed failed"
[ "$failed" -eq 0 ]
