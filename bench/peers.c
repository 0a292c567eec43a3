#include "bench/peers.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const peer_names[PEERS] = {"malloc", "mimalloc", "boehm"};

/* A function's address out of dlsym's object pointer, in the way POSIX asks for. */
static bool find(void *library, const char *name, void *function) {
  void *address = dlsym(library, name);
  memcpy(function, &address, sizeof(address));
  return address != NULL;
}

static void *open_library(const char *versioned, const char *plain) {
  void *library = dlopen(versioned, RTLD_NOW | RTLD_LOCAL);
  return library != NULL ? library : dlopen(plain, RTLD_NOW | RTLD_LOCAL);
}

static const char *open_mimalloc(peer *allocator) {
  void *library = open_library("libmimalloc.so.2", "libmimalloc.so");
  if (library == NULL) return "libmimalloc is not installed";
  bool found = find(library, "mi_malloc", &allocator->allocate) && find(library, "mi_free", &allocator->release);
  return found ? NULL : "libmimalloc has no mi_malloc";
}

static const char *open_boehm(peer *allocator) {
  void (*initialise)(void);
  void *library = open_library("libgc.so.1", "libgc.so");
  if (library == NULL) return "libgc is not installed";
  if (!find(library, "GC_init", &initialise) || !find(library, "GC_malloc", &allocator->allocate))
    return "libgc has no GC_malloc";
  initialise();
  return NULL;
}

/* libc's own malloc, even if a linked or preloaded library replaces malloc. */
static const char *open_malloc(peer *allocator) {
  void *library = open_library("libc.so.6", "libc.so");
  bool found =
      library != NULL && find(library, "malloc", &allocator->allocate) && find(library, "free", &allocator->release);
  if (!found) *allocator = (peer){malloc, free};
  return NULL;
}

const char *peer_open(peer *allocator, peer_id id) {
  *allocator = (peer){NULL, NULL};
  switch (id) {
  case PEER_MALLOC: return open_malloc(allocator);
  case PEER_MIMALLOC: return open_mimalloc(allocator);
  case PEER_BOEHM: break;
  }
  return open_boehm(allocator);
}

static void out_of_memory(void) {
  fprintf(stderr, "allocate-a-lot: a peer is out of memory\n");
  exit(1);
}

void peer_loop(const peer *allocator, uint64_t first, uint64_t end, two_alive *result, bool init) {
  peer with = *allocator;
  two_alive alive = *result;
  for (uint64_t i = first; i < end; i++) {
    if (with.release != NULL) with.release(alive.previous);
    alive.previous = alive.current;
    node *fresh = with.allocate(sizeof(node));
    if (fresh == NULL) out_of_memory();
    fresh->header = TYPE_NODE;
    if (init) fresh->value = i;
    alive.current = fresh;
  }
  *result = alive;
}
