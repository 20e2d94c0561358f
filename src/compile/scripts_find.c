/* SPDX-License-Identifier: Apache-2.0 */
#include "compile/scripts_find.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/str.h"

static const char script_name[] = "standalone_compile.py";

/* The script in <folder><below> as an absolute path, or NULL with a line added to `tried`. */
static char *look_in(const char *folder, const char *below, tj_str *tried) {
  tj_str path = {0};
  tj_str_printf(&path, "%s%s/%s", folder, below, script_name);
  char *real = realpath(tj_str_text(&path), NULL);
  if (real && access(real, R_OK) == 0) {
    tj_str_free(&path);
    return real;
  }
  free(real);
  tj_str_printf(tried, "\n  %s: %s", tj_str_text(&path), strerror(errno));
  tj_str_free(&path);
  return NULL;
}

/* The folder of the file that this code was loaded from, or NULL. */
static char *own_folder(void) {
  Dl_info info;
  char *file = NULL;
  static const char here;
  if (dladdr(&here, &info) && info.dli_fname) file = realpath(info.dli_fname, NULL);
  /* Linked statically into a program that was started by its bare name. */
  if (file == NULL) file = realpath("/proc/self/exe", NULL);
  char *slash = file ? strrchr(file, '/') : NULL;
  if (slash) *slash = 0;
  return file;
}

tj_status tj_scripts_find(const char *wanted, char **out_script) {
  /* From <prefix>/lib, and from <prefix>/lib/<triplet>. */
  static const char *const below[] = {"/../share/triton_jit/scripts",
                                      "/../../share/triton_jit/scripts"};
  tj_str tried = {0};
  char *script = NULL;
  if (wanted) {
    script = look_in(wanted, "", &tried);
  } else {
    char *folder = own_folder();
    for (size_t i = 0; folder && script == NULL && i < sizeof below / sizeof *below; i++)
      script = look_in(folder, below[i], &tried);
    free(folder);
  }
  tj_status status = TJ_OK;
  if (script == NULL)
    status = tj_fail(TJ_E_NO_SCRIPTS, "the library's Python scripts are not found; tried:%s\n%s",
                     tj_str_text(&tried),
                     wanted ? "That folder was asked for (tj_compiler_options.scripts or "
                              "TRITON_JIT_SCRIPTS); leave it unset to use the installed one."
                            : "Set TRITON_JIT_SCRIPTS to the folder that holds "
                              "standalone_compile.py.");
  tj_str_free(&tried);
  *out_script = script;
  return status;
}
