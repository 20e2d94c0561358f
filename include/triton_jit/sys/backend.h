/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of a backend: a dozen functions between the library and one vendor's
 * driver. UNSTABLE until every vendor's backend is in: TJ_BACKEND_API_VERSION changes
 * with any change here, and the library refuses another one.
 *
 * backends/null is the template.
 */
#ifndef TRITON_JIT_SYS_BACKEND_H
#define TRITON_JIT_SYS_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#include "triton_jit/function.h"
#include "triton_jit/status.h"

TJ_BEGIN_DECLS

#define TJ_BACKEND_API_VERSION 1u

/*
 * Records a message for the calling thread and returns `status`: how a backend, or a
 * grid callback, says what went wrong. printf's format. Thread-safe. Since 0.1.
 */
TJ_API tj_status tj_fail(tj_status status, const char *format, ...) TJ_PRINTF(2, 3);

/* Sends a line to the host's log callback, if it asked for that level. Since 0.1. */
TJ_API void tj_log(int level, const char *format, ...) TJ_PRINTF(2, 3);

/*
 * Where one run-time parameter lies in the packed parameters.
 *
 * A tensor descriptor made on the host is several of them, those that Triton passes where
 * a descriptor is no object of the device: base, shape (i64) and strides (i64), flags
 * (u1: NaN padding; from Triton 3.7 on also rounding to tf32), shape (i32) and strides
 * (i64) once more. A backend whose kernels take a descriptor object instead (Triton's
 * metadata says so in tensordesc_meta) makes it of the values before the second shape.
 */
typedef struct tj_slot {
  tj_dtype dtype;  /* of the value, or of what the pointer points to */
  uint8_t pointer; /* 1: a pointer */
  uint8_t size;    /* bytes */
  uint32_t offset; /* bytes from the start, natural alignment */
  uint8_t rank;    /* not 0: the base of a tensor descriptor of that rank */
  uint8_t reserved[3];
} tj_slot;

/* A compiled variant. Owned by the library, lives as long as the process. */
typedef struct tj_artifact {
  uint32_t struct_size;
  uint32_t num_warps; /* from the metadata, not from the request */
  uint32_t warp_size;
  uint32_t num_ctas;
  uint32_t shared; /* bytes */
  uint32_t n_slots;
  uint32_t params_size; /* bytes of the packed parameters */
  uint32_t reserved;
  const tj_slot *slots;
  const char *symbol;    /* name in the binary */
  const char *function;  /* the Python name, for messages */
  const char *extension; /* "so", "cubin"... */
  const void *binary;
  size_t binary_size;
  const char *metadata; /* Triton's metadata, JSON, ended by 0 */
  const char *target_backend;
  const char *target_arch;
} tj_artifact;

/* One launch. Read only during the call. */
typedef struct tj_backend_launch {
  uint32_t struct_size;
  uint32_t grid[3]; /* no zero in it, and each within max_grid */
  int32_t device;
  uint32_t reserved;
  void *stream;
  const void *params; /* packed, 16-byte aligned; room for 64 more bytes behind params_size */
  uint32_t params_size;
  uint32_t n_slots;
  const tj_artifact *artifact;
  const tj_bound *bound; /* the arguments; NULL where the caller has only `params` */
} tj_backend_launch;

/* What is known of the memory behind a slot. */
typedef struct tj_extent {
  uint32_t known;        /* 0: it is a number, or a pointer without an extent */
  uint32_t element_size; /* bytes, of `shape` and `strides` */
  uint64_t address;      /* of the element that the argument begins with */
  uint64_t first, last;  /* addresses of the bytes that belong to it; first > last: it is empty */
  uint32_t rank;         /* 0: all bytes from first to last belong to it */
  const int64_t *shape, *strides; /* elements; strides may be NULL: row-major */
} tj_extent;

/*
 * The extents that the arguments of a launch carry (DLPack tensors, descriptors, tj_buffer),
 * one for each slot: launch->n_slots. Looks at every argument: for checks, not for each launch.
 * What the extents point to lives as long as the launch. Does nothing where one of the two is
 * NULL. Thread-safe. Since 0.1.
 */
TJ_API void tj_launch_extents(const tj_backend_launch *launch, tj_extent *out_extents);

enum {
  TJ_BACKEND_EXPLICIT = 1 /* never chosen by itself, only by name */
};

/*
 * All functions may be called from any thread, several at once; load and unload of one
 * device are serialised by the library. On failure they call tj_fail and return what it
 * returns.
 */
typedef struct tj_backend {
  uint32_t struct_size; /* sizeof(tj_backend) */
  uint32_t api_version; /* TJ_BACKEND_API_VERSION */
  const char *name;
  uint32_t flags;              /* TJ_BACKEND_* */
  uint32_t max_grid[3];        /* largest grid in each dimension */
  const int32_t *dlpack_types; /* DLDeviceType codes of tensors that it takes */
  uint32_t n_dlpack_types;     /* 0: takes all */

  /* Opens the driver, once. TJ_E_BACKEND_UNAVAILABLE with the reason if it is not there. */
  tj_status (*probe)(int32_t *out_devices);
  /* Compile target of a device. The texts live as long as the process. */
  tj_status (*target)(int32_t device, tj_target *out_target);
  /* The device that is current for this thread. */
  tj_status (*current_device)(int32_t *out_device);
  /* A number that names the context in which a stream's kernels must be loaded; NULL: the
     device is enough. */
  tj_status (*context)(int32_t device, void *stream, uint64_t *out_context);
  /* May be slow. */
  tj_status (*load)(const tj_artifact *artifact, int32_t device, uint64_t context,
                    void **out_module);
  void (*unload)(void *module);
  tj_status (*launch)(void *module, const tj_backend_launch *launch);
} tj_backend;

TJ_END_DECLS

#endif /* TRITON_JIT_SYS_BACKEND_H */
