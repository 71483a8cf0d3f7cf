/* What tenon.h promises, from C11. Run from the repository's root. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon/tenon.h"

static int num_failed = 0;

#define CHECK(condition)                                           \
  do {                                                             \
    if (!(condition)) {                                            \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      ++num_failed;                                                \
    }                                                              \
  } while (0)

static const char kCounter[] = "test/data/pt2/counter.pt2";
static const char kMlp[] = "test/data/pt2/mlp.pt2";
static const char kScalars[] = "test/data/pt2/symint_arith.pt2";

static tenon_model* Open(const char* path) {
  tenon_errors* errors = NULL;
  tenon_model* model = NULL;
  if (tenon_model_open(path, NULL, &model, &errors) != TENON_OK) {
    fputs(tenon_errors_text(errors), stderr);
    exit(1);
  }
  return model;
}

static tenon_runner* Load(const tenon_model* model) {
  tenon_errors* errors = NULL;
  tenon_runner* runner = NULL;
  if (tenon_runner_load(model, 1, &runner, &errors) != TENON_OK) {
    fputs(tenon_errors_text(errors), stderr);
    exit(1);
  }
  return runner;
}

static int Run(tenon_runner* runner) {
  tenon_errors* errors = NULL;
  const tenon_status status = tenon_runner_run(runner, &errors);
  if (status != TENON_OK) fputs(tenon_errors_text(errors), stderr);
  tenon_errors_free(errors);
  return status == TENON_OK;
}

static DLTensor Floats(float* data, int64_t* sizes, int32_t rank) {
  DLTensor t;
  memset(&t, 0, sizeof t);
  t.data = data;
  t.device.device_type = kDLCPU;
  t.ndim = rank;
  t.dtype.code = kDLFloat;
  t.dtype.bits = 32;
  t.dtype.lanes = 1;
  t.shape = sizes;
  return t;
}

static float FirstOf(const tenon_runner* runner) {
  DLManagedTensor* result = NULL;
  CHECK(tenon_runner_result(runner, 0, &result, NULL) == TENON_OK);
  if (result == NULL) return -1;
  const float first = *(const float*)result->dl_tensor.data;
  result->deleter(result);
  return first;
}

static void TestErrors(void) {
  tenon_errors* errors = NULL;
  tenon_model* model = (tenon_model*)&errors;
  CHECK(tenon_model_open("test/data/no-such-file.pt2", NULL, &model, &errors) ==
        TENON_FAILED);
  CHECK(model == NULL);
  CHECK(tenon_errors_count(errors) == 1);
  CHECK(strcmp(tenon_errors_rule(errors, 0), "T-IO") == 0);
  CHECK(strstr(tenon_errors_place(errors, 0), "no-such-file") != NULL);
  CHECK(strlen(tenon_errors_message(errors, 0)) > 0);
  CHECK(strstr(tenon_errors_text(errors), "[T-IO]\n") != NULL);
  CHECK(strcmp(tenon_errors_rule(errors, 1), "") == 0);
  tenon_errors_free(errors);
  /* Nobody has to ask why. */
  CHECK(tenon_model_open("test/data/no-such-file.pt2", NULL, &model, NULL) ==
        TENON_FAILED);
  CHECK(tenon_model_open(NULL, NULL, &model, NULL) == TENON_FAILED);
  tenon_errors_free(NULL);
  tenon_model_free(NULL);
  tenon_runner_free(NULL);
  tenon_names_free(NULL);
}

static void TestLists(void) {
  tenon_names* names = NULL;
  CHECK(tenon_methods(kMlp, &names, NULL) == TENON_OK);
  CHECK(tenon_names_count(names) == 1);
  CHECK(strcmp(tenon_names_get(names, 0), "model") == 0);
  tenon_names_free(names);
  CHECK(tenon_backends(&names, NULL) == TENON_OK);
  int has_cpu = 0;
  for (size_t i = 0; i < tenon_names_count(names); ++i) {
    has_cpu |= strcmp(tenon_names_get(names, i), "cpu") == 0;
  }
  CHECK(has_cpu);
  tenon_names_free(names);
  CHECK(strlen(tenon_version()) >= 5);
  CHECK(tenon_c_api_version() == TENON_C_API_VERSION);
}

static void TestCallingConvention(void) {
  tenon_model* model = Open(kMlp);
  CHECK(strcmp(tenon_model_signature(model), "forward(input: f32[3, 8])") == 0);
  CHECK(strcmp(tenon_model_returns(model), "f32[3, 4]") == 0);
  CHECK(strlen(tenon_model_digest(model)) == 32);
  CHECK(tenon_model_num_inputs(model) == 1);
  CHECK(tenon_model_num_outputs(model) == 1);
  tenon_leaf leaf;
  CHECK(tenon_model_input(model, 0, &leaf, sizeof leaf) == TENON_OK);
  CHECK(strcmp(leaf.path, "args.0") == 0);
  CHECK(strcmp(leaf.type, "f32[3, 8]") == 0);
  CHECK(strcmp(leaf.dtype, "float32") == 0);
  CHECK(leaf.kind == TENON_TENSOR && !leaf.is_fixed);
  CHECK(leaf.dl_dtype.code == kDLFloat && leaf.dl_dtype.bits == 32);
  CHECK(leaf.ndim == 2 && leaf.sizes[0] == 3 && leaf.sizes[1] == 8);
  CHECK(tenon_model_input(model, 1, &leaf, sizeof leaf) == TENON_FAILED);
  /* A caller that was compiled when the struct was shorter. */
  tenon_leaf shorter;
  memset(&shorter, 0x55, sizeof shorter);
  CHECK(tenon_model_output(model, 0, &shorter, offsetof(tenon_leaf, kind)) ==
        TENON_OK);
  CHECK(strcmp(shorter.type, "f32[3, 4]") == 0);
  CHECK(shorter.ndim == 0x55555555);
  tenon_model_free(model);
}

static int num_deleted = 0;

static void CountDeletion(DLManagedTensor* self) {
  (void)self;
  ++num_deleted;
}

static void TestRunsOnTheCallersMemory(void) {
  tenon_model* model = Open(kMlp);
  tenon_runner* runner = Load(model);
  tenon_model_free(model); /* the runner keeps what it needs */
  float x[24], y[12];
  int64_t sizes[2] = {3, 8}, out_sizes[2] = {3, 4};
  for (int i = 0; i < 24; ++i) x[i] = (float)i / 8;
  DLManagedTensor managed;
  memset(&managed, 0, sizeof managed);
  managed.dl_tensor = Floats(x, sizes, 2);
  managed.deleter = CountDeletion;
  CHECK(tenon_runner_set(runner, "input", &managed, NULL) == TENON_OK);
  CHECK(Run(runner));
  CHECK(tenon_runner_num_results(runner) == 1);
  CHECK(tenon_runner_result_kind(runner, 0) == TENON_TENSOR);
  CHECK(tenon_runner_result_kind(runner, 1) == TENON_NONE);
  DLManagedTensor* first = NULL;
  CHECK(tenon_runner_result(runner, 0, &first, NULL) == TENON_OK);
  CHECK(first->dl_tensor.ndim == 2 && first->dl_tensor.shape[1] == 4);
  CHECK(first->dl_tensor.dtype.code == kDLFloat);
  /* The memory is read at each call: nothing was copied. */
  const float before = FirstOf(runner);
  for (int i = 0; i < 24; ++i) x[i] = -x[i];
  CHECK(Run(runner));
  CHECK(FirstOf(runner) != before);
  CHECK(*(const float*)first->dl_tensor.data == before);
  for (int i = 0; i < 24; ++i) x[i] = -x[i];

  DLTensor buffer = Floats(y, out_sizes, 2);
  CHECK(tenon_runner_set_output(runner, 0, &buffer, NULL) == TENON_OK);
  CHECK(Run(runner));
  CHECK(y[0] == before);
  CHECK(FirstOf(runner) == before);
  CHECK(tenon_runner_set_output(runner, 0, NULL, NULL) == TENON_OK);
  y[0] = 77;
  CHECK(Run(runner));
  CHECK(y[0] == 77);

  CHECK(num_deleted == 0);
  DLTensor view = managed.dl_tensor;
  CHECK(tenon_runner_set_view(runner, "0", &view, NULL) == TENON_OK);
  CHECK(num_deleted == 1);
  CHECK(Run(runner));
  CHECK(FirstOf(runner) == before);
  tenon_runner_free(runner);
  CHECK(*(const float*)first->dl_tensor.data == before);
  first->deleter(first);
  CHECK(num_deleted == 1);
}

static void TestWrongInputs(void) {
  tenon_model* model = Open(kMlp);
  tenon_runner* runner = Load(model);
  float x[24] = {0};
  int64_t sizes[2] = {3, 8};
  tenon_errors* errors = NULL;
  CHECK(tenon_runner_run(runner, &errors) == TENON_FAILED);
  CHECK(strcmp(tenon_errors_rule(errors, 0), "S-5") == 0);
  CHECK(strcmp(tenon_errors_place(errors, 0), "args.0") == 0);
  tenon_errors_free(errors);
  DLManagedTensor managed;
  memset(&managed, 0, sizeof managed);
  managed.dl_tensor = Floats(x, sizes, 2);
  managed.deleter = CountDeletion;
  num_deleted = 0;
  /* What isn't taken stays the caller's. */
  CHECK(tenon_runner_set(runner, "args.7", &managed, NULL) == TENON_FAILED);
  managed.dl_tensor.dtype.lanes = 4;
  CHECK(tenon_runner_set(runner, "args.0", &managed, NULL) == TENON_FAILED);
  managed.dl_tensor.dtype.lanes = 1;
  managed.dl_tensor.device.device_type = (DLDeviceType)2;
  CHECK(tenon_runner_set(runner, "args.0", &managed, NULL) == TENON_FAILED);
  managed.dl_tensor.device.device_type = kDLCPU;
  managed.dl_tensor.ndim = -1;
  CHECK(tenon_runner_set(runner, "args.0", &managed, NULL) == TENON_FAILED);
  CHECK(num_deleted == 0);
  managed.dl_tensor = Floats(x, sizes, 1); /* too few dimensions */
  CHECK(tenon_runner_set(runner, "args.0", &managed, NULL) == TENON_OK);
  CHECK(tenon_runner_run(runner, &errors) == TENON_FAILED);
  CHECK(strcmp(tenon_errors_rule(errors, 0), "S-5") == 0);
  tenon_errors_free(errors);
  CHECK(tenon_runner_num_results(runner) == 0);
  DLManagedTensor* none = &managed;
  CHECK(tenon_runner_result(runner, 0, &none, NULL) == TENON_FAILED);
  CHECK(none == NULL);
  tenon_runner_clear_inputs(runner);
  CHECK(num_deleted == 1);
  tenon_runner_free(runner);
  tenon_model_free(model);
}

static void TestState(void) {
  tenon_model* model = Open(kCounter);
  tenon_runner* runner = Load(model);
  tenon_runner* other = Load(model);
  float x[3] = {1, 1, 1};
  int64_t sizes[1] = {3};
  DLTensor view = Floats(x, sizes, 1);
  CHECK(tenon_runner_set_view(runner, "x", &view, NULL) == TENON_OK);
  CHECK(tenon_runner_set_view(other, "x", &view, NULL) == TENON_OK);
  CHECK(Run(runner));
  const float first = FirstOf(runner);
  CHECK(Run(runner));
  const float second = FirstOf(runner);
  CHECK(first != second);
  CHECK(Run(other)); /* has a state of its own */
  CHECK(FirstOf(other) == first);
  tenon_runner_reset_state(runner);
  CHECK(Run(runner));
  CHECK(FirstOf(runner) == first);
  tenon_runner_free(runner);
  tenon_runner_free(other);
  tenon_model_free(model);
}

static void TestScalars(void) {
  tenon_model* model = Open(kScalars);
  tenon_runner* runner = Load(model);
  size_t num_ints = 0;
  for (size_t i = 0; i < tenon_model_num_outputs(model); ++i) {
    tenon_leaf leaf;
    CHECK(tenon_model_output(model, i, &leaf, sizeof leaf) == TENON_OK);
    num_ints += leaf.kind == TENON_INT;
  }
  float x[64];
  int64_t sizes[8];
  for (int i = 0; i < 64; ++i) x[i] = 1;
  for (size_t i = 0; i < tenon_model_num_inputs(model); ++i) {
    tenon_leaf leaf;
    CHECK(tenon_model_input(model, i, &leaf, sizeof leaf) == TENON_OK);
    if (leaf.kind == TENON_INT) {
      CHECK(tenon_runner_set_int(runner, leaf.path, 3, NULL) == TENON_OK);
      continue;
    }
    for (int32_t d = 0; d < leaf.ndim; ++d) {
      sizes[d] = leaf.sizes[d] < 0 ? 4 : leaf.sizes[d];
    }
    DLTensor view = Floats(x, sizes, leaf.ndim);
    view.dtype = leaf.dl_dtype;
    CHECK(tenon_runner_set_view(runner, leaf.path, &view, NULL) == TENON_OK);
  }
  CHECK(Run(runner));
  size_t found = 0;
  for (size_t i = 0; i < tenon_runner_num_results(runner); ++i) {
    if (tenon_runner_result_kind(runner, i) != TENON_INT) continue;
    ++found;
    CHECK(tenon_runner_result_int(runner, i) > 0);
    CHECK(tenon_runner_result_float(runner, i) == 0);
    CHECK(strcmp(tenon_runner_result_string(runner, i), "") == 0);
  }
  CHECK(found == num_ints && found > 0);
  tenon_runner_free(runner);
  tenon_model_free(model);
}

static void TestExport(const char* folder) {
  char path[1024];
  snprintf(path, sizeof path, "%s/c_api_test.pt2", folder);
  tenon_model* model = Open(kMlp);
  tenon_model* hybrid = NULL;
  const char* backends[] = {"cpu", "echo"};
  CHECK(tenon_model_export(model, backends, 2, &hybrid, NULL) == TENON_OK);
  CHECK(strcmp(tenon_model_digest(hybrid), tenon_model_digest(model)) == 0);
  CHECK(tenon_model_save(hybrid, path, NULL) == TENON_OK);
  tenon_model_free(hybrid);
  hybrid = Open(path);
  CHECK(strcmp(tenon_model_digest(hybrid), tenon_model_digest(model)) == 0);
  tenon_model_free(hybrid);
  remove(path);
  const char* unknown[] = {"no such backend"};
  tenon_errors* errors = NULL;
  CHECK(tenon_model_export(model, unknown, 1, &hybrid, &errors) ==
        TENON_FAILED);
  CHECK(hybrid == NULL);
  CHECK(strcmp(tenon_errors_rule(errors, 0), "T-USAGE") == 0);
  tenon_errors_free(errors);
  tenon_model_free(model);
}

int main(int argc, char** argv) {
  TestErrors();
  TestLists();
  TestCallingConvention();
  TestRunsOnTheCallersMemory();
  TestWrongInputs();
  TestState();
  TestScalars();
  TestExport(argc > 1 ? argv[1] : ".");
  if (num_failed > 0) fprintf(stderr, "%d checks failed\n", num_failed);
  return num_failed > 0;
}
