/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Version of the interface, and the macros that every public header uses.
 */
#ifndef TRITON_JIT_VERSION_H
#define TRITON_JIT_VERSION_H

#include <stdint.h>

#define TJ_VERSION_MAJOR 0
#define TJ_VERSION_MINOR 1
#define TJ_VERSION_PATCH 0

/* One number that compares: 0.1.0 is 0x000100. */
#define TJ_MAKE_VERSION(major, minor, patch) \
  (((uint32_t)(major) << 16) | ((uint32_t)(minor) << 8) | (uint32_t)(patch))
#define TJ_VERSION TJ_MAKE_VERSION(TJ_VERSION_MAJOR, TJ_VERSION_MINOR, TJ_VERSION_PATCH)

#if defined(__GNUC__) || defined(__clang__)
#define TJ_API __attribute__((visibility("default")))
#define TJ_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#else
#define TJ_API
#define TJ_PRINTF(fmt, first)
#endif

#ifdef __cplusplus
#define TJ_BEGIN_DECLS extern "C" {
#define TJ_END_DECLS }
#else
#define TJ_BEGIN_DECLS
#define TJ_END_DECLS
#endif

TJ_BEGIN_DECLS

/*
 * Version of the library that is loaded, as TJ_MAKE_VERSION gives it. A program that
 * was built against an older header of the same major version runs with it.
 * Thread-safe, never blocks. Since 0.1.
 */
TJ_API uint32_t tj_version(void);

/* The same as text, "0.1.0"; static storage. Thread-safe, never blocks. Since 0.1. */
TJ_API const char *tj_version_string(void);

TJ_END_DECLS

#endif /* TRITON_JIT_VERSION_H */
