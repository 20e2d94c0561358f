/* SPDX-License-Identifier: Apache-2.0 */
/* What sanitized code tells the library. */
/*@ tj_event */
TJ_FN tj_cpu_event tj_event(const tj_program *pg, const tj_cpu_site *site, int64_t element) {
  return (tj_cpu_event){site, {pg->pid[0], pg->pid[1], pg->pid[2]}, (uint64_t)element};
}
/*@ tj_check */
/* May an element be accessed? */
TJ_CALL bool tj_check(const tj_program *pg, const tj_cpu_site *site, int64_t element,
                      const volatile void *address) {
  const tj_cpu_sanitizer *s = pg->host->sanitizer;
  const tj_cpu_event event = tj_event(pg, site, element);
  return s->access(s->ctx, &event, address) == 0;
}
/*@ tj_nowhere */
/* Where accesses go that must not be done and cannot be left out. */
static uint64_t tj_nowhere[2];
/*@ tj_escape */
TJ_CALL void tj_escape(const tj_program *pg, const tj_cpu_site *site, int64_t element,
                       uint32_t origin) {
  const tj_cpu_sanitizer *s = pg->host->sanitizer;
  const tj_cpu_event event = tj_event(pg, site, element);
  s->escapes(s->ctx, &event, origin);
}
/*@ tj_born */
TJ_CALL uint32_t tj_born(const tj_program *pg, const tj_cpu_site *site, int64_t element,
                         double result, const double *operands, uint32_t n) {
  const tj_cpu_sanitizer *s = pg->host->sanitizer;
  const tj_cpu_event event = tj_event(pg, site, element);
  return s->born(s->ctx, &event, result, operands, n);
}
/*@ tj_badness */
/* Bits: 1 not finite, 2 NaN. */
TJ_FN uint32_t tj_badness(double x) {
  return __builtin_isnan(x) ? 3 : __builtin_isfinite(x) ? 0 : 1;
}
/*@ tj_made */
/* The origin of a result of operands whose badness is known, and the origin of one of them: a NaN
   goes back to a NaN, or else is born here; an infinity goes back to anything not finite. */
TJ_CALL uint32_t tj_made(const tj_program *pg, const tj_cpu_site *site, int64_t element,
                         double result, uint32_t badness, uint32_t origin) {
  const uint32_t bad = tj_badness(result);
  if (bad == 0) return 0;
  return bad & ~badness ? tj_born(pg, site, element, result, NULL, 0) : origin;
}
/*@ tj_origin */
/* The same for the operands themselves. */
TJ_CALL uint32_t tj_origin(const tj_program *pg, const tj_cpu_site *site, int64_t element,
                           double result, double x, uint32_t ox, double y, uint32_t oy, double z,
                           uint32_t oz, uint32_t n) {
  const uint32_t bad = tj_badness(result);
  if (bad == 0) return 0;
  const double operands[3] = {x, y, z};
  const uint32_t origins[3] = {ox, oy, oz};
  uint32_t all = 0, origin = 0;
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t badness = tj_badness(operands[i]);
    all |= badness;
    if (origin == 0 && (badness & bad) == bad) origin = origins[i];
  }
  return bad & ~all ? tj_born(pg, site, element, result, operands, n) : origin;
}
