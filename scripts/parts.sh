# Runs the parts of a test run and adds up what they count. Sourced by
# scripts/test.sh and .ci/run.
#
#   run_part NAME COMMAND...   runs the command; its last "N passed, N failed"
#                              (or ctest's summary) counts. A command that
#                              fails without counting a failure counts as one.
#   skip_part NAME WHY         says that a part wasn't run
#   finish_parts               the summary, then "N passed, N failed"; status 1
#                              when anything failed

part_lines=()
total_passed=0
total_failed=0
parts_log=$(mktemp -d)
trap 'rm -rf "$parts_log"' EXIT

# Prints "PASSED FAILED" from the last line of a log that counts.
read_counts() {
  awk '
    # 12 passed, 0 failed[, 3 skipped]
    match($0, /^[0-9]+ passed, [0-9]+ failed/) {
      split($0, word, " "); passed = word[1]; failed = word[3]
    }
    # 98% tests passed, 2 tests failed out of 120
    /tests passed, [0-9]+ tests? failed out of [0-9]+/ {
      failed = $4; passed = $NF - failed
    }
    # pytest: [2 failed, ]303 passed[, 1 skipped][, 1 error] in 12.30s
    match($0, /[0-9]+ (passed|failed|errors?).* in [0-9.]+s/) {
      passed = failed = 0
      n = split(substr($0, RSTART), word, /[ ,=]+/)
      for (i = 2; i <= n; ++i) {
        if (word[i] == "passed") passed = word[i - 1]
        if (word[i] ~ /^(failed|errors?)$/) failed += word[i - 1]
      }
    }
    END { print passed + 0, failed + 0 }' "$1"
}

run_part() {
  local name=$1 log status passed failed start=$SECONDS
  shift
  log=$parts_log/${#part_lines[@]}
  echo "== $name"
  "$@" </dev/null 2>&1 | tee "$log"
  status=${PIPESTATUS[0]}
  read -r passed failed < <(read_counts "$log")
  if [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then
    failed=1
    echo "FAIL $name: exit status $status"
  fi
  total_passed=$((total_passed + passed))
  total_failed=$((total_failed + failed))
  part_lines+=("$(printf '%-34s %6d passed %5d failed %5d s' \
    "$name" "$passed" "$failed" $((SECONDS - start)))")
}

skip_part() {
  echo "== $1: skipped, $2"
  part_lines+=("$(printf '%-34s skipped: %s' "$1" "$2")")
}

finish_parts() {
  echo "== summary"
  printf '%s\n' "${part_lines[@]}"
  echo "$total_passed passed, $total_failed failed"
  [ "$total_failed" -eq 0 ]
}
