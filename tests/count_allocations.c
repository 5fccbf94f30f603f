/* Counts the allocations of a process that are no small change, and writes the number to $ALLOCATIONS when it ends.
   Loaded by LD_PRELOAD; see test_runtime.py. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { kSmall = 4096 };

static atomic_long allocations;

static void count(size_t bytes) {
  if (bytes >= kSmall) atomic_fetch_add(&allocations, 1);
}

void* malloc(size_t bytes) {
  static void* (*next)(size_t);
  if (next == NULL) next = (void* (*)(size_t))dlsym(RTLD_NEXT, "malloc");
  count(bytes);
  return next(bytes);
}

void* aligned_alloc(size_t alignment, size_t bytes) {
  static void* (*next)(size_t, size_t);
  if (next == NULL) next = (void* (*)(size_t, size_t))dlsym(RTLD_NEXT, "aligned_alloc");
  count(bytes);
  return next(alignment, bytes);
}

int posix_memalign(void** result, size_t alignment, size_t bytes) {
  static int (*next)(void**, size_t, size_t);
  if (next == NULL) next = (int (*)(void**, size_t, size_t))dlsym(RTLD_NEXT, "posix_memalign");
  count(bytes);
  return next(result, alignment, bytes);
}

void* mmap(void* address, size_t bytes, int protection, int flags, int file, off_t offset) {
  static void* (*next)(void*, size_t, int, int, int, off_t);
  if (next == NULL) {
    next = (void* (*)(void*, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
  }
  count(bytes);
  return next(address, bytes, protection, flags, file, offset);
}

__attribute__((destructor)) static void write_count(void) {
  const char* path = getenv("ALLOCATIONS");
  FILE* file = path == NULL ? NULL : fopen(path, "w");
  if (file == NULL) return;
  fprintf(file, "%ld\n", atomic_load(&allocations));
  fclose(file);
}
