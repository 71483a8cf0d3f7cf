# The stock ExecuTorch runtime, for scripts that source this: `python` and
# `environment` of the packages, and the runner, built once into
# $build/pte_runner. Wants `build`, `shared` and the scratch folder `work`; ends
# the script with a failure when it can't be built.

# Runs a command quietly; what it says is shown only when it fails.
build_quietly() {
  "$@" >>"$work/log" 2>&1 && return
  tail -n 20 "$work/log"
  echo "0 passed, 1 failed"
  exit 1
}

python=$("$shared/oracle/setup.sh" executorch) || exit 1
environment=$(dirname "$(dirname "$(dirname "$python")")")
build_quietly cmake -G Ninja -S "$shared/oracle/pte_runner" \
  -B "$build/pte_runner" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_PREFIX_PATH="$environment/wheel/executorch"
build_quietly cmake --build "$build/pte_runner"
