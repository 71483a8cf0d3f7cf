/* Tenon for C, and for every language that can call C.
 *
 *   tenon_errors* errors = NULL;
 *   tenon_model* model = NULL;
 *   tenon_runner* runner = NULL;
 *   if (tenon_model_open("mlp.pt2", NULL, &model, &errors) != TENON_OK ||
 *       tenon_runner_load(model, 1, &runner, &errors) != TENON_OK ||
 *       tenon_runner_set_view(runner, "args.0", &x, &errors) != TENON_OK ||
 *       tenon_runner_run(runner, &errors) != TENON_OK) {
 *     fprintf(stderr, "%s", tenon_errors_text(errors));
 *     tenon_errors_free(errors);
 *   }
 *
 * Errors. Functions that can fail return TENON_OK or TENON_FAILED. The last
 * parameter then receives everything that is wrong; the caller frees it. It may
 * be NULL, and isn't touched on success. Handles that a function was to make
 * are NULL after a failure.
 *
 * Ownership. What a function makes is freed by the function that has its name
 * and ends in _free; that takes NULL, too. Text belongs to the object that it
 * was asked of and lives as long. It is UTF-8 and ends with a zero.
 *
 * Threads. A model may be used by several threads at once. A runner is one
 * thread's at a time; load one in each thread, which is cheap: they share
 * program and weights. A runner keeps what it needs of its model, so the two
 * may be freed in any order.
 *
 * Tensors cross as DLPack's, on the CPU, one lane per element. */
#ifndef TENON_TENON_H_
#define TENON_TENON_H_

#include <stddef.h>
#include <stdint.h>

/* The part of dlpack.h (0.8 and 1.x) that is used here. Include your own
 * dlpack.h before this header, and that is used instead. */
#ifndef DLPACK_DLPACK_H_

#ifdef __cplusplus
extern "C" {
#endif

/* Those that DLPack names. In C++ the type is fixed, so that a number from
 * elsewhere is a value, too. */
#ifdef __cplusplus
typedef enum : int32_t {
#else
typedef enum {
#endif
  kDLCPU = 1,
  kDLCUDA = 2,
  kDLCUDAHost = 3,
  kDLOpenCL = 4,
  kDLVulkan = 7,
  kDLMetal = 8,
  kDLVPI = 9,
  kDLROCM = 10,
  kDLROCMHost = 11,
  kDLExtDev = 12,
  kDLCUDAManaged = 13,
  kDLOneAPI = 14,
  kDLWebGPU = 15,
  kDLHexagon = 16,
  kDLMAIA = 17
} DLDeviceType;

typedef struct {
  DLDeviceType device_type;
  int32_t device_id;
} DLDevice;

typedef enum {
  kDLInt = 0,
  kDLUInt = 1,
  kDLFloat = 2,
  kDLOpaqueHandle = 3,
  kDLBfloat = 4,
  kDLComplex = 5,
  kDLBool = 6
} DLDataTypeCode;

typedef struct {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DLDataType;

typedef struct {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides; /* in elements; NULL: row-major */
  uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensor* self);
} DLManagedTensor;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DLPACK_DLPACK_H_ */

#ifdef __cplusplus
extern "C" {
#endif

/* Grows when something is added. Nothing is ever removed or changed. */
#define TENON_C_API_VERSION 1

typedef enum { TENON_OK = 0, TENON_FAILED = 1 } tenon_status;

typedef enum {
  TENON_TENSOR = 0,
  TENON_INT = 1,
  TENON_FLOAT = 2,
  TENON_BOOL = 3,
  TENON_STRING = 4,
  TENON_NONE = 5,
  TENON_OBJECT = 6 /* can't be passed */
} tenon_kind;

typedef struct tenon_errors tenon_errors;
typedef struct tenon_names tenon_names;
typedef struct tenon_model tenon_model;
typedef struct tenon_runner tenon_runner;

/* "0.1.0", and TENON_C_API_VERSION, of the library that is loaded. */
const char* tenon_version(void);
int32_t tenon_c_api_version(void);

/* --- errors --- */

size_t tenon_errors_count(const tenon_errors* errors);
/* "V-SIG-03"; `tenon rule ID` explains it. */
const char* tenon_errors_rule(const tenon_errors* errors, size_t i);
/* File, JSON path, or graph and node; may be "". */
const char* tenon_errors_place(const tenon_errors* errors, size_t i);
const char* tenon_errors_message(const tenon_errors* errors, size_t i);
/* All of them, a line each: "PLACE: MESSAGE [RULE]". "" of NULL. */
const char* tenon_errors_text(const tenon_errors* errors);
void tenon_errors_free(tenon_errors* errors);

/* --- lists of names --- */

size_t tenon_names_count(const tenon_names* names);
const char* tenon_names_get(const tenon_names* names, size_t i);
void tenon_names_free(tenon_names* names);

/* --- models --- */

/* The methods of a .pt2, and the backends of this build. */
tenon_status tenon_methods(const char* path, tenon_names** out,
                           tenon_errors** errors);
tenon_status tenon_backends(tenon_names** out, tenon_errors** errors);

/* `method`: NULL or "" is "model", or the only one. */
tenon_status tenon_model_open(const char* path, const char* method,
                              tenon_model** out, tenon_errors** errors);
void tenon_model_free(tenon_model* model);

/* "forward(x: f32[s0, 4])", "f32[s0]". */
const char* tenon_model_signature(const tenon_model* model);
const char* tenon_model_returns(const tenon_model* model);
/* 32 hexadecimal digits: equal digests, equal programs. */
const char* tenon_model_digest(const tenon_model* model);

/* An input or an output. */
typedef struct {
  const char* path; /* "args.0", "kwargs.mask"; of outputs "0", "y.0", "" */
  const char* type; /* "f32[s0, 5]" */
  tenon_kind kind;
  int32_t is_fixed;    /* an input that calls may leave out */
  const char* dtype;   /* of tensors, PyTorch's name: "float32" */
  DLDataType dl_dtype; /* of tensors; 0 bits where DLPack has none for it */
  int32_t ndim;
  const int64_t* sizes; /* of tensors; -1 where a size varies */
} tenon_leaf;

size_t tenon_model_num_inputs(const tenon_model* model);
size_t tenon_model_num_outputs(const tenon_model* model);
/* `leaf_bytes` is sizeof(tenon_leaf) as the caller knows it. What it points to
 * lives as long as the model. TENON_FAILED: there is no such leaf. */
tenon_status tenon_model_input(const tenon_model* model, size_t i,
                               tenon_leaf* out, size_t leaf_bytes);
tenon_status tenon_model_output(const tenon_model* model, size_t i,
                                tenon_leaf* out, size_t leaf_bytes);

/* The hybrid program over the named backends, most preferred first, proved
 * equal to this one. */
tenon_status tenon_model_export(const tenon_model* model,
                                const char* const* backends,
                                size_t num_backends, tenon_model** out,
                                tenon_errors** errors);
/* Writes a .pt2, whole and proved or not at all. */
tenon_status tenon_model_save(const tenon_model* model, const char* path,
                              tenon_errors** errors);

/* --- runners --- */

/* `num_threads`: that one call may use, the caller's included. */
tenon_status tenon_runner_load(const tenon_model* model, int32_t num_threads,
                               tenon_runner** out, tenon_errors** errors);
void tenon_runner_free(tenon_runner* runner);

/* Inputs are set by leaf path ("args.0"), by a parameter's name ("mask"), or by
 * number ("0"), and stay set until they are set again or cleared. Elements
 * aren't copied: a call reads them where they lie, and writes those that the
 * program writes. */

/* Takes the tensor over, if it succeeds: its deleter is called when it is set
 * anew or cleared, or when the runner is freed, and no result views it any
 * more. */
tenon_status tenon_runner_set(tenon_runner* runner, const char* address,
                              DLManagedTensor* tensor, tenon_errors** errors);
/* The memory stays the caller's and has to outlive the calls that use it. The
 * struct itself, its shape and strides are copied. */
tenon_status tenon_runner_set_view(tenon_runner* runner, const char* address,
                                   const DLTensor* tensor,
                                   tenon_errors** errors);
tenon_status tenon_runner_set_int(tenon_runner* runner, const char* address,
                                  int64_t value, tenon_errors** errors);
tenon_status tenon_runner_set_float(tenon_runner* runner, const char* address,
                                    double value, tenon_errors** errors);
tenon_status tenon_runner_set_bool(tenon_runner* runner, const char* address,
                                   int32_t value, tenon_errors** errors);
tenon_status tenon_runner_set_string(tenon_runner* runner, const char* address,
                                     const char* value, tenon_errors** errors);
tenon_status tenon_runner_set_none(tenon_runner* runner, const char* address,
                                   tenon_errors** errors);
void tenon_runner_clear_inputs(tenon_runner* runner);

/* From now on that result is copied into the caller's memory; NULL: no more. A
 * buffer that doesn't fit is an error of the call. */
tenon_status tenon_runner_set_output(tenon_runner* runner, size_t output,
                                     const DLTensor* buffer,
                                     tenon_errors** errors);

/* A call that fails leaves state and inputs as they were. */
tenon_status tenon_runner_run(tenon_runner* runner, tenon_errors** errors);

/* Of the last call that succeeded, until the next one. */
size_t tenon_runner_num_results(const tenon_runner* runner);
/* TENON_NONE where there is no such result. */
tenon_kind tenon_runner_result_kind(const tenon_runner* runner, size_t i);
/* Its deleter frees it; it may outlive the runner. Nothing is copied. A result
 * that views an input lies in that input's memory. */
tenon_status tenon_runner_result(const tenon_runner* runner, size_t i,
                                 DLManagedTensor** out, tenon_errors** errors);
/* Each only for its own kind; else 0, "". */
int64_t tenon_runner_result_int(const tenon_runner* runner, size_t i);
double tenon_runner_result_float(const tenon_runner* runner, size_t i);
int32_t tenon_runner_result_bool(const tenon_runner* runner, size_t i);
const char* tenon_runner_result_string(const tenon_runner* runner, size_t i);

/* Puts the state back to what the file holds. */
void tenon_runner_reset_state(tenon_runner* runner);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* TENON_TENON_H_ */
