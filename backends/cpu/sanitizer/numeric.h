/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numeric sanitizer: a NaN or an infinity that an operation makes of operands that have
 * none, and that reaches memory.
 *
 * The code keeps a number beside each value: 0, or the birth that the value comes from. A
 * birth alone is no finding: where the result disappears on its way (a lane that is masked
 * at the store, the side of tl.where that is not taken, 1 / infinity) it does no harm.
 */
#ifndef TJ_CPU_NUMERIC_H
#define TJ_CPU_NUMERIC_H

#include "cpu/sanitizer/report.h"

/* Births of one program that are told apart; further ones are taken for the last of these. */
#define TJ_CPU_BIRTHS 65536u

typedef struct tj_cpu_numeric tj_cpu_numeric;

/* NULL: no memory. */
tj_cpu_numeric *tj_cpu_numeric_new(void);
void tj_cpu_numeric_free(tj_cpu_numeric *numeric);

/* See cpu_abi.h. */
uint32_t tj_cpu_numeric_born(tj_cpu_numeric *numeric, const tj_cpu_event *event, double result,
                             const double *operands, uint32_t n);
void tj_cpu_numeric_escapes(const tj_cpu_numeric *numeric, tj_cpu_report *report,
                            const tj_cpu_event *event, uint32_t origin);

/* Forgets the births of a program that is over. */
void tj_cpu_numeric_next_program(tj_cpu_numeric *numeric);

#endif /* TJ_CPU_NUMERIC_H */
