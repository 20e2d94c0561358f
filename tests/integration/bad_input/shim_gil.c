/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library whose constructor wants Python's global lock, and so takes it with the loader's own lock held. With
 * a thread that holds Python's lock and enters the loader, the two would wait for each other for ever.
 */
#include <dlfcn.h>

static void __attribute__((constructor)) take_and_give_back(void) {
  int (*ensure)(void);
  void (*release)(int);
  *(void **)&ensure = dlsym(RTLD_DEFAULT, "PyGILState_Ensure");
  *(void **)&release = dlsym(RTLD_DEFAULT, "PyGILState_Release");
  if (ensure && release) release(ensure());
}
