/* SPDX-License-Identifier: Apache-2.0 */
/* A shared object in memory -> a dlopen handle. */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cpu/cpu_module.h"

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#elif defined(__riscv)
#define OWN_MACHINE EM_RISCV
#elif defined(__powerpc64__)
#define OWN_MACHINE EM_PPC64
#elif defined(__s390x__)
#define OWN_MACHINE EM_S390
#elif defined(__loongarch64)
#define OWN_MACHINE 258
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OWN_DATA ELFDATA2LSB
#else
#define OWN_DATA ELFDATA2MSB
#endif
#define OWN_CLASS (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)

/* ElfW(Ehdr) and friends are those of this process; anything else is refused before. */
const char *tj_cpu_elf_fault(const void *bytes, size_t size, char *buffer, size_t capacity) {
  ElfW(Ehdr) header;
  if (size < SELFMAG || memcmp(bytes, ELFMAG, SELFMAG) != 0) return "it is not an ELF file";
  if (size < sizeof header) return "it is cut short within the ELF header";
  memcpy(&header, bytes, sizeof header);
  if (header.e_ident[EI_CLASS] != OWN_CLASS || header.e_ident[EI_DATA] != OWN_DATA)
    return "its word size or byte order is not that of this process";
#ifdef OWN_MACHINE
  if (header.e_machine != OWN_MACHINE) {
    (void)snprintf(buffer, capacity, "it is for ELF machine %u, and this process is %u",
                   (unsigned)header.e_machine, (unsigned)OWN_MACHINE);
    return buffer;
  }
#endif
  if (header.e_type != ET_DYN) return "it is an ELF file, but not a shared object";
  if (header.e_phentsize != sizeof(ElfW(Phdr)) || header.e_phnum == 0 || header.e_phoff > size ||
      header.e_phnum > (size - header.e_phoff) / sizeof(ElfW(Phdr)))
    return "it is cut short within the program headers";
  bool dynamic = false;
  for (size_t i = 0; i < header.e_phnum; i++) {
    ElfW(Phdr) segment;
    memcpy(&segment, (const char *)bytes + header.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_offset > size || segment.p_filesz > size - segment.p_offset) {
      (void)snprintf(buffer, capacity,
                     "it is cut short: it has %zu bytes, and segment %zu needs %llu from %llu on",
                     size, i, (unsigned long long)segment.p_filesz,
                     (unsigned long long)segment.p_offset);
      return buffer;
    }
    if (segment.p_type == PT_LOAD && segment.p_memsz < segment.p_filesz)
      return "a segment is larger in the file than in memory";
    dynamic |= segment.p_type == PT_DYNAMIC;
  }
  return dynamic ? NULL : "it has no dynamic section";
}

bool tj_cpu_write_all(int fd, const void *bytes, size_t size) {
  const char *p = bytes;
  while (size > 0) {
    ssize_t n = write(fd, p, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    p += n;
    size -= (size_t)n;
  }
  return true;
}

static void *open_path(const char *path, char *buffer, size_t capacity) {
  void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (object == NULL) {
    const char *reason = dlerror();
    (void)snprintf(buffer, capacity, "%s", reason ? reason : "dlopen failed");
  }
  return object;
}

/*
 * A path of the descriptor that no other load has had. The dynamic loader takes an object
 * that it has under the same name for the one asked for, and numbers of descriptors come
 * back; so a counter is spelled into the path, a bit a "/" or "/." step.
 */
static void unique_path(int fd, char *path, size_t capacity) {
  static _Atomic uint64_t counter;
  uint64_t id = atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed);
  size_t n = (size_t)snprintf(path, capacity, "/proc/self/fd");
  for (; id != 0; id >>= 1) n += (size_t)snprintf(path + n, capacity - n, id & 1 ? "/." : "/");
  (void)snprintf(path + n, capacity - n, "/%d", fd);
}

static int memory_file(const char *name) {
  char label[128];
  (void)snprintf(label, sizeof label, "triton_jit:%s", name);
#ifdef MFD_EXEC
  int fd = memfd_create(label, MFD_CLOEXEC | MFD_EXEC);
  if (fd >= 0 || errno != EINVAL) return fd;
#endif
  return memfd_create(label, MFD_CLOEXEC);
}

static void *open_in_memory(const void *bytes, size_t size, const char *name, char *buffer,
                            size_t capacity) {
  int fd = memory_file(name);
  if (fd < 0) {
    (void)snprintf(buffer, capacity, "memfd_create: %s", strerror(errno));
    return NULL;
  }
  void *object = NULL;
  if (tj_cpu_write_all(fd, bytes, size)) {
    char path[192]; /* 13 for the folder, 2 for each of 64 bits, 12 for the number */
    unique_path(fd, path, sizeof path);
    object = open_path(path, buffer, capacity);
  } else {
    (void)snprintf(buffer, capacity, "writing a memory file: %s", strerror(errno));
  }
  close(fd);
  return object;
}

/* mkostemp makes a file that only this user can open, under a name nobody can foresee. */
static void *open_in_folder(const void *bytes, size_t size, const char *folder, char *buffer,
                            size_t capacity) {
  char path[4096];
  int n = snprintf(path, sizeof path, "%s/triton_jit-XXXXXX", folder);
  if (n < 0 || (size_t)n >= sizeof path) {
    (void)snprintf(buffer, capacity, "the path of the folder is too long");
    return NULL;
  }
  int fd = mkostemp(path, O_CLOEXEC);
  if (fd < 0) {
    (void)snprintf(buffer, capacity, "a file in %s: %s", folder, strerror(errno));
    return NULL;
  }
  void *object = NULL;
  if (tj_cpu_write_all(fd, bytes, size))
    object = open_path(path, buffer, capacity);
  else
    (void)snprintf(buffer, capacity, "writing %s: %s", path, strerror(errno));
  close(fd);
  (void)unlink(path);
  return object;
}

void *tj_cpu_open_bytes(const void *bytes, size_t size, const char *name, const char *folder,
                        char *buffer, size_t capacity) {
  if (folder) return open_in_folder(bytes, size, folder, buffer, capacity);
  return open_in_memory(bytes, size, name, buffer, capacity);
}
