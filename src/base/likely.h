/* SPDX-License-Identifier: Apache-2.0 */
/* Which way a branch of the hit path goes. */
#ifndef TJ_BASE_LIKELY_H
#define TJ_BASE_LIKELY_H

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

#endif /* TJ_BASE_LIKELY_H */
