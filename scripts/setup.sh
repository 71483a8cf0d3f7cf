#!/usr/bin/env bash
# Installs what building and testing Tenon needs and this machine lacks, from
# Debian's packages. Says nothing when nothing is missing.
#
#   scripts/setup.sh            everything: build, tests, sanitizers
#   scripts/setup.sh --check    only says what is missing; status 1 if anything is
set -euo pipefail

packages=(
  # Compilers and build.
  g++ clang cmake ninja-build ccache git ca-certificates
  # Libraries that Tenon links (docs/dependencies.md).
  libsimdjson-dev libfmt-dev zlib1g-dev libdnnl-dev libxxhash-dev
  # Tests and benchmarks.
  libgtest-dev libbenchmark-dev
  llvm-14-tools libclang-rt-14-dev python3 python3-venv
  # Pictures of graphs, the layout of the code, what is odd in it, counting
  # instructions.
  graphviz clang-format clang-tidy valgrind
)

# Prints the packages of the list that aren't installed.
find_missing() {
  local installed
  installed=$(dpkg-query -W -f='${db:Status-Abbrev} ${Package}\n' \
    "${packages[@]}" 2>/dev/null | awk '$1 == "ii" {print $2}') || true
  comm -23 <(printf '%s\n' "${packages[@]}" | sort) \
    <(printf '%s\n' "$installed" | sort)
}

if ! command -v dpkg-query >/dev/null; then
  echo "setup.sh: this isn't Debian; install by hand: ${packages[*]}" >&2
  exit 1
fi
mapfile -t missing < <(find_missing)
[ "${#missing[@]}" -gt 0 ] || exit 0
if [ "${1-}" = --check ]; then
  echo "missing: ${missing[*]}"
  exit 1
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "setup.sh: neither root nor sudo; ask for: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
# A mirror may hiccup; a second try costs little.
install_missing() {
  "${as_root[@]}" apt-get -o Acquire::Retries=3 update &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get \
      -o Acquire::Retries=3 install -y --no-install-recommends "${missing[@]}"
}
echo "installing ${missing[*]}"
if ! install_missing >"$log" 2>&1 </dev/null; then
  echo "setup.sh: apt-get failed; the last lines it printed:" >&2
  tail -n 20 "$log" >&2
  exit 1
fi
