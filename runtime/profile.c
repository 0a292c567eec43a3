/* The allocation profile: puts samples into a call tree, and writes the tree to a file.
 *
 * A sample's path in the tree is the program's stack, then the object's type, then its size. The node's number is the
 * sample's tag, so the node is found without a search when the sample's fate is known.
 */
#include "runtime/profile.h"

#include "runtime/call_tree.h"
#include "runtime/exit_list.h"
#include "runtime/log_file.h"
#include "runtime/option_table.h"
#include "runtime/platform/files.h"
#include "runtime/platform/process.h"
#include "runtime/report.h"
#include "runtime/speedscope.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sizes above this share a frame with all sizes up to the next power of two. */
#define EXACT_MAX_BYTES 256
#define LABEL_BYTES 64
#define NO_NODE UINT64_MAX

enum { FRAME_BY_ID = 0, FRAME_BY_TEXT, FRAME_CUT, FRAME_TYPE, FRAME_SIZE };

typedef struct crd_profile {
  crd_exit_entry at_exit; /* first: [profile.2] */
  crd_link link;
  cradle_stack stack;
  crd_lock lock; /* [profile.1] */
  bool written;
  crd_profile_facts facts;
  crd_call_tree tree;
  char *name; /* as the user wrote it and the heap's number; owned */
  char *path; /* name with the process's number; owned */
  int fd;
  int owner; /* the process that opened it */
  cradle_frame frames[CRADLE_FRAMES_MAX];
} crd_profile;

/* --- frames --- */

/* FNV-1a, 64 bits (Fowler, Noll and Vo); NULL counts as "". */
static uint64_t hash_text(uint64_t hash, const char *text) {
  if (text == NULL) text = "";
  do hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
  while (*text++ != '\0');
  return hash;
}

static uint32_t frame_of(crd_call_tree *tree, const crd_frame_key *key, const char *name, const char *file) {
  uint32_t frame = crd_call_tree_find_frame(tree, key);
  if (frame != CRD_CALL_TREE_NONE) return frame;
  return crd_call_tree_add_frame(tree, key, name, file);
}

static uint32_t program_frame(crd_call_tree *tree, const cradle_frame *frame) {
  crd_frame_key key = {frame->id, frame->line, FRAME_BY_ID};
  char label[LABEL_BYTES];
  const char *name = frame->name;
  if (frame->id == 0) {
    key.kind = FRAME_BY_TEXT;
    key.id = hash_text(hash_text(UINT64_C(0xcbf29ce484222325), name), frame->file);
  }
  if (name == NULL) {
    snprintf(label, sizeof label, "function %ju", (uintmax_t)frame->id);
    name = frame->id == 0 ? "function without a name" : label;
  }
  return frame_of(tree, &key, name, frame->file);
}

static uint32_t type_frame(crd_call_tree *tree, const cradle_sample *sample) {
  crd_frame_key key = {sample->type, 0, FRAME_TYPE};
  uint32_t frame = crd_call_tree_find_frame(tree, &key);
  if (frame != CRD_CALL_TREE_NONE) return frame;
  char label[LABEL_BYTES];
  const char *name = sample->type_name;
  if (sample->type == CRADLE_TYPE_ID_END) name = "(reservation)";
  if (name == NULL) {
    snprintf(label, sizeof label, "type %ju", (uintmax_t)sample->type);
    name = label;
  }
  return crd_call_tree_add_frame(tree, &key, name, NULL);
}

static uint32_t size_frame(crd_call_tree *tree, uint64_t bytes) {
  bool is_exact = bytes <= EXACT_MAX_BYTES;
  uint64_t most = is_exact ? bytes : UINT64_C(1) << (64 - __builtin_clzll(bytes - 1));
  crd_frame_key key = {most, 0, FRAME_SIZE};
  uint32_t frame = crd_call_tree_find_frame(tree, &key);
  if (frame != CRD_CALL_TREE_NONE) return frame;
  char label[LABEL_BYTES];
  if (is_exact)
    snprintf(label, sizeof label, "%ju bytes", (uintmax_t)bytes);
  else
    snprintf(label, sizeof label, "%ju to %ju bytes", (uintmax_t)(most / 2 + 1), (uintmax_t)most);
  return crd_call_tree_add_frame(tree, &key, label, NULL);
}

/* --- samples --- */

static uint32_t below(crd_call_tree *tree, uint32_t node, uint32_t frame) {
  if (node == CRD_CALL_TREE_NONE || frame == CRD_CALL_TREE_NONE) return CRD_CALL_TREE_NONE;
  return crd_call_tree_child(tree, node, frame);
}

/* The node of the program's stack, from the outermost frame to the innermost. */
static uint32_t stack_node(crd_profile *profile, cradle_mutator *mutator) {
  const crd_frame_key cut = {0, 0, FRAME_CUT};
  crd_call_tree *tree = &profile->tree;
  uint32_t node = 0;
  if (profile->stack.frames == NULL) return node;
  size_t count = profile->stack.frames(profile->stack.data, mutator, profile->frames, CRADLE_FRAMES_MAX);
  if (count > CRADLE_FRAMES_MAX) {
    count = CRADLE_FRAMES_MAX;
    node = below(tree, node, frame_of(tree, &cut, "(outer frames left out)", NULL));
  }
  while (count-- > 0) node = below(tree, node, program_frame(tree, &profile->frames[count]));
  return node;
}

static uint64_t add_sample(crd_profile *profile, cradle_mutator *mutator, const cradle_sample *sample) {
  crd_call_tree *tree = &profile->tree;
  uint32_t node = stack_node(profile, mutator);
  node = below(tree, node, type_frame(tree, sample));
  node = below(tree, node, size_frame(tree, sample->bytes));
  profile->facts.samples++;
  if (node == CRD_CALL_TREE_NONE) {
    profile->facts.lost++;
    return NO_NODE;
  }
  tree->nodes[node].allocated += sample->weight_bytes;
  return node;
}

static void add_fate(crd_profile *profile, const cradle_sample *sample, cradle_fate fate) {
  if (sample->tag == NO_NODE) return;
  crd_tree_node *node = &profile->tree.nodes[sample->tag];
  switch (fate) {
  case CRADLE_FATE_DIED: node->died += sample->weight_bytes; break;
  case CRADLE_FATE_SURVIVED: node->survived += sample->weight_bytes; break;
  case CRADLE_FATE_UNKNOWN: break; /* neither died nor survived, like objects that are young at the end */
  }
}

static uint64_t sampled(void *data, cradle_mutator *mutator, const cradle_sample *sample) {
  crd_profile *profile = data;
  crd_lock_take(&profile->lock);
  uint64_t tag = add_sample(profile, mutator, sample);
  crd_lock_release(&profile->lock);
  return tag;
}

static void settled(void *data, const cradle_sample *sample, cradle_fate fate) {
  crd_profile *profile = data;
  crd_lock_take(&profile->lock);
  add_fate(profile, sample, fate);
  crd_lock_release(&profile->lock);
}

/* --- the file --- */

static bool open_file(crd_profile *profile) {
  profile->owner = crd_process_number();
  profile->facts.process = (uint64_t)profile->owner;
  free(profile->path);
  profile->path = crd_path_with_pid(profile->name);
  profile->fd = -1;
  if (profile->path != NULL) profile->fd = crd_open_to_write(profile->path, O_CREAT);
  if (profile->fd >= 0) return true;
  crd_report("CRADLE_PROFILE: %s: %s; there will be no profile", profile->path != NULL ? profile->path : profile->name,
             crd_open_failure(errno));
  return false;
}

static bool close_file(crd_profile *profile) {
  int fd = profile->fd;
  profile->fd = -1; /* first: a child of fork must not close a descriptor that has another user by now */
  return fd < 0 || crd_file_close(fd);
}

/* A child of fork has the parent's samples from before the fork. It has a file of its own only if the name contains the
 * process's number. */
static bool may_write(crd_profile *profile) {
  if (profile->owner == crd_process_number()) return !profile->written;
  close_file(profile);
  return strstr(profile->name, "%d") != NULL && open_file(profile);
}

static bool write_tree(crd_profile *profile) {
  crd_growing_text text = {.length = 0};
  crd_speedscope_write(&text, &profile->tree, &profile->facts);
  bool done = !text.failed && crd_write_all(profile->fd, text.text, text.length);
  free(text.text);
  return close_file(profile) && done;
}

static void write_file(crd_profile *profile) {
  bool failed = !crd_file_empty(profile->fd);
  failed |= !write_tree(profile);
  if (failed) crd_report("CRADLE_PROFILE: %s: %s; the profile is not complete", profile->path, strerror(errno));
  if (profile->facts.lost != 0)
    crd_report("CRADLE_PROFILE: %s: %" PRIu64 " of %" PRIu64 " samples are missing: no memory for them", profile->path,
               profile->facts.lost, profile->facts.samples);
}

static void write_once(crd_profile *profile) {
  int error = errno; /* the program's */
  if (may_write(profile)) write_file(profile);
  profile->written = true;
  errno = error;
}

static void write_at_exit(crd_exit_entry *entry) {
  crd_profile *profile = (crd_profile *)entry;
  if (!crd_lock_try_here(&profile->lock)) return;
  write_once(profile);
  crd_lock_release(&profile->lock);
}

/* --- life --- */

static void free_profile(crd_profile *profile) {
  crd_call_tree_fini(&profile->tree);
  free(profile->name);
  free(profile->path);
  free(profile);
}

static void end(void *data) {
  crd_profile *profile = data;
  crd_exit_list_remove(&profile->at_exit);
  if (profile->link.heap != NULL)
    write_once(profile);
  else
    close_file(profile);
  free_profile(profile);
}

/* The first heap's file has the given name; the names of the others end with the heap's number. */
static bool name_file(crd_profile *profile, const char *name) {
  size_t bytes = strlen(name) + LABEL_BYTES;
  profile->name = malloc(bytes);
  if (profile->name == NULL) {
    crd_report("CRADLE_PROFILE: no memory for the profile");
    return false;
  }
  if (profile->facts.heap == 1)
    strcpy(profile->name, name);
  else
    snprintf(profile->name, bytes, "%s.%ju", name, (uintmax_t)profile->facts.heap);
  return true;
}

static crd_profile *make(const char *name) {
  static uint64_t heaps; /* [profile.2] */
  crd_profile *profile = calloc(1, sizeof *profile);
  if (profile == NULL || !crd_call_tree_init(&profile->tree)) {
    crd_report("CRADLE_PROFILE: no memory for the profile");
    free(profile);
    return NULL;
  }
  profile->facts.heap = __atomic_add_fetch(&heaps, 1, __ATOMIC_RELAXED);
  profile->at_exit.run = write_at_exit;
  if (!name_file(profile, name) || !open_file(profile)) {
    free_profile(profile);
    return NULL;
  }
  crd_exit_list_add(&profile->at_exit);
  return profile;
}

crd_link *crd_profile_open(const char *name, cradle_options *options) {
  if (name == NULL || *name == '\0') return NULL;
  if (options->sampler.sampled != NULL) {
    crd_report("CRADLE_PROFILE=%.200s: the program samples its allocations itself; there will be no "
               "profile",
               name);
    return NULL;
  }
  crd_profile *profile = make(name);
  if (profile == NULL) return NULL;
  profile->link = (crd_link){.end = end, .part = profile};
  profile->stack = options->stack;
  profile->facts.interval_bytes = (options->sampler.interval_bytes + 7) & ~(uint64_t)7;
  profile->facts.seed = options->sampler.seed;
  options->sampler.sampled = sampled;
  options->sampler.settled = settled;
  options->sampler.data = profile;
  return crd_link_add(&profile->link, options);
}
