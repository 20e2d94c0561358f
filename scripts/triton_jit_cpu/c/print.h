/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of device_print, and failures. */
/*@ tj_print */
int vsnprintf(char *restrict, size_t, const char *restrict, __builtin_va_list);
__attribute__((format(printf, 2, 3), noinline, unused)) static void
tj_print(const tj_program *pg, const char *format, ...) {
  char text[512];
  __builtin_va_list args;
  __builtin_va_start(args, format);
  int size = vsnprintf(text, sizeof text, format, args);
  __builtin_va_end(args);
  if (size < 0) return;
  if (size >= (int)sizeof text) size = (int)sizeof text - 1;
  pg->host->print(pg->host->ctx, text, (size_t)size);
}
/*@ tj_fail */
int vsnprintf(char *restrict, size_t, const char *restrict, __builtin_va_list);
__attribute__((format(printf, 3, 4), noinline, unused)) static int32_t
tj_fail(const tj_program *pg, int32_t kind, const char *format, ...) {
  char text[1024];
  __builtin_va_list args;
  __builtin_va_start(args, format);
  int size = vsnprintf(text, sizeof text, format, args);
  __builtin_va_end(args);
  if (size < 0) size = 0;
  if (size >= (int)sizeof text) size = (int)sizeof text - 1;
  pg->host->fail(pg->host->ctx, kind, text, (size_t)size);
  return 1;
}
