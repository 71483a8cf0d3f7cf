# Tenon's delegate, which is loaded into a runner that knows nothing of it: for
# scripts that source runner.sh first. Sets `delegate_library`.

delegate_library=$build/executorch/libtenon_executorch.so
build_quietly cmake "$build" -DTENON_EXECUTORCH=ON \
  -DCMAKE_PREFIX_PATH="$environment/wheel/executorch"
build_quietly cmake --build "$build" --target tenon_executorch_delegate
