/* The allocation profile of a heap: its samples as JSON lines, as they come. tools/cradle-report adds them up.
 *
 *     {"t":...,"heap":"4711.1","event":"sample","number":7,"type_name":"pair","bytes":24,"weight_bytes":524288,
 *      "same":1,"frames":[["eval","lisp.c",31]]}
 *     {"t":...,"heap":"4711.1","event":"fate","number":7,"survived":1}
 *
 * [profile.1] A profile is a log (runtime/log.h): it shares that one's file, head, lock and ends.
 * [profile.2] A sample's stack is the first frames of the stack before it in the file, and then frames of its own.
 */
#include "runtime/log.h"
#include "runtime/report.h"

#include <stdlib.h>
#include <string.h>

typedef struct crd_profile {
  crd_link link;
  crd_log *log;
  cradle_stack stack;
  uint64_t interval_bytes, seed;
  uint64_t process;                 /* whose file has the stack below; 0: nobody's */
  uint64_t samples;                 /* written so far */
  size_t depth;                     /* of the last sample's stack */
  uint64_t last[CRADLE_FRAMES_MAX]; /* a hash for each of its frames, the outermost first */
  cradle_frame frames[CRADLE_FRAMES_MAX];
} crd_profile;

/* --- stacks [profile.2] --- */

/* FNV-1a, 64 bits (Fowler, Noll and Vo); NULL counts as "". */
static uint64_t hash_text(uint64_t hash, const char *text) {
  if (text == NULL) text = "";
  do hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
  while (*text++ != '\0');
  return hash;
}

static uint64_t hash_frame(const cradle_frame *frame) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ frame->id * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)frame->line << 32;
  return frame->id != 0 ? hash : hash_text(hash_text(hash, frame->name), frame->file);
}

/* frames: the innermost first, as the program gave them. Returns how many of the outermost are those of the last. */
static size_t same_frames(crd_profile *profile, size_t count) {
  size_t same = 0;
  bool differs = false;
  for (size_t i = 0; i < count; i++) {
    uint64_t hash = hash_frame(&profile->frames[count - 1 - i]);
    differs = differs || i >= profile->depth || profile->last[i] != hash;
    if (!differs) same++;
    profile->last[i] = hash;
  }
  profile->depth = count;
  return same;
}

static void put_text_or_null(crd_log_file *file, const char *text) {
  if (text != NULL)
    crd_json_string(file, text);
  else
    put(file, "null");
}

/* A function without a name has its id in place of the name. */
static void put_frame(crd_log_file *file, const cradle_frame *frame) {
  put(file, "[");
  if (frame->name == NULL && frame->id != 0)
    put_number(file, frame->id);
  else
    put_text_or_null(file, frame->name);
  put(file, ",");
  put_text_or_null(file, frame->file);
  put(file, ",");
  put_number(file, frame->line);
  put(file, "]");
}

static void put_stack(crd_profile *profile, crd_log_file *file, size_t count) {
  bool is_cut = count > CRADLE_FRAMES_MAX;
  if (is_cut) count = CRADLE_FRAMES_MAX;
  size_t same = same_frames(profile, count);
  put(file, is_cut ? ",\"cut\":1,\"same\":" : ",\"same\":");
  put_number(file, same);
  put(file, ",\"frames\":[");
  for (size_t i = count - same; i-- > 0;) {
    put_frame(file, &profile->frames[i]);
    if (i != 0) put(file, ",");
  }
  put(file, "]");
}

/* --- lines --- */

static void put_member(crd_log_file *file, const char *key, uint64_t number) {
  put(file, ",\"");
  put(file, key);
  put(file, "\":");
  put_number(file, number);
}

/* Each file says first what its samples stand for. */
static void begin_file(crd_profile *profile, crd_log_writer *writer) {
  if (profile->process == writer->process) return;
  profile->process = writer->process;
  profile->depth = 0;
  crd_json_begin(writer, "profile");
  put_member(&writer->file, "interval_bytes", profile->interval_bytes);
  put_member(&writer->file, "seed", profile->seed);
  put(&writer->file, "}\n");
}

static void put_sample(crd_profile *profile, crd_log_writer *writer, const cradle_sample *sample, size_t frames) {
  crd_log_file *file = &writer->file;
  crd_json_begin(writer, "sample");
  put_member(file, "number", profile->samples);
  if (sample->type == CRADLE_TYPE_ID_END) {
    put(file, ",\"type_name\":\"(reservation)\"");
  } else if (sample->type_name == NULL) {
    put_member(file, "type", sample->type);
  } else {
    put(file, ",\"type_name\":");
    crd_json_string(file, sample->type_name);
  }
  if (sample->mutator != NULL) {
    put(file, ",\"mutator\":");
    crd_json_string(file, sample->mutator);
  }
  put_member(file, "bytes", sample->bytes);
  put_member(file, "weight_bytes", sample->weight_bytes);
  put_stack(profile, file, frames);
  put(file, "}\n");
}

static uint64_t sampled(void *data, cradle_mutator *mutator, const cradle_sample *sample) {
  crd_profile *profile = data;
  const cradle_stack *stack = &profile->stack;
  size_t frames = stack->frames == NULL ? 0 : stack->frames(stack->data, mutator, profile->frames, CRADLE_FRAMES_MAX);
  crd_log_writer *writer = crd_log_line_begin(profile->log);
  begin_file(profile, writer);
  profile->samples++;
  put_sample(profile, writer, sample, frames);
  crd_log_line_end(profile->log);
  return profile->samples;
}

/* A sample without a line has an unknown fate, like an object that is young at the end. */
static void settled(void *data, const cradle_sample *sample, cradle_fate fate) {
  crd_profile *profile = data;
  if (fate == CRADLE_FATE_UNKNOWN) return;
  crd_log_writer *writer = crd_log_line_begin(profile->log);
  crd_json_begin(writer, "fate");
  put_member(&writer->file, "number", sample->tag);
  put_member(&writer->file, "survived", fate == CRADLE_FATE_SURVIVED);
  put(&writer->file, "}\n");
  crd_log_line_end(profile->log);
}

crd_link *crd_profile_open(const char *name, cradle_options *options) {
  if (name == NULL) return NULL;
  if (options->sampler.sampled != NULL) {
    crd_report("CRADLE_PROFILE=%.200s: the program samples its allocations itself; there will be no profile", name);
    return NULL;
  }
  crd_profile *profile = calloc(1, sizeof *profile);
  if (profile == NULL) crd_report("CRADLE_PROFILE: no memory for the profile");
  crd_log *log = profile == NULL ? NULL : crd_log_open_profile(name, options);
  if (log == NULL) {
    free(profile);
    return NULL;
  }
  profile->link = (crd_link){.end = free, .part = profile};
  profile->log = log;
  profile->stack = options->stack;
  profile->interval_bytes = (options->sampler.interval_bytes + 7) & ~(uint64_t)7;
  profile->seed = options->sampler.seed;
  options->sampler.sampled = sampled;
  options->sampler.settled = settled;
  options->sampler.data = profile;
  return crd_link_add(&profile->link, options);
}
