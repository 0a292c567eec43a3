#include "runtime/speedscope.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "gc/base/text.h"

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"
#define FORMAT_VERSION 1

/* --- strings --- */

/* A byte that is not part of a UTF-8 character becomes the character with the byte's number. */
static void put_string(crd_growing_text *file, const char *text) {
  crd_growing_words(file, "\"");
  for (const char *p = text, *end = text + strlen(text); p < end;) {
    size_t bytes = crd_character_bytes(p, (size_t)(end - p));
    if (*p == '"' || *p == '\\')
      crd_growing_format(file, "\\%c", *p);
    else if ((unsigned char)*p < ' ' || bytes == 0)
      crd_growing_format(file, "\\u%04x", (unsigned char)*p);
    else
      crd_growing_put(file, p, bytes);
    p += bytes == 0 ? 1 : bytes;
  }
  crd_growing_words(file, "\"");
}

/* --- the parts --- */

static void put_frame(crd_growing_text *file, const crd_tree_frame *frame) {
  crd_growing_words(file, "{\"name\":");
  put_string(file, frame->name);
  if (frame->file != NULL) {
    crd_growing_words(file, ",\"file\":");
    put_string(file, frame->file);
  }
  if (frame->key.line != 0) crd_growing_format(file, ",\"line\":%" PRIu32, frame->key.line);
  crd_growing_words(file, "}");
}

static void put_frames(crd_growing_text *file, const crd_call_tree *tree) {
  crd_growing_words(file, "\"shared\":{\"frames\":[");
  for (uint32_t i = 0; i < tree->frame_count; i++) {
    crd_growing_words(file, i == 0 ? "\n" : ",\n");
    put_frame(file, &tree->frames[i]);
  }
  crd_growing_words(file, "]},\n");
}

static void put_stack(crd_growing_text *file, const crd_call_tree *tree, uint32_t node) {
  uint32_t parent = tree->nodes[node].parent;
  if (parent != 0) {
    put_stack(file, tree, parent);
    crd_growing_words(file, ",");
  }
  crd_growing_format(file, "%" PRIu32, tree->nodes[node].frame);
}

/* The field of a node that one of the profiles shows. */
static uint64_t weight_of(const crd_tree_node *node, size_t field) {
  return *(const uint64_t *)((const char *)node + field);
}

static uint64_t sum_of(const crd_call_tree *tree, size_t field) {
  uint64_t sum = 0;
  for (uint32_t i = 1; i < tree->node_count; i++) sum += weight_of(&tree->nodes[i], field);
  return sum;
}

static void put_profile(crd_growing_text *file, const crd_call_tree *tree, const char *name, size_t field) {
  const char *separator = "";
  crd_growing_format(file,
                     "{\"type\":\"sampled\",\"name\":\"%s\",\"unit\":\"bytes\",\"startValue\":0,"
                     "\"endValue\":%" PRIu64 ",\n\"samples\":[",
                     name, sum_of(tree, field));
  for (uint32_t i = 1; i < tree->node_count; i++) {
    if (weight_of(&tree->nodes[i], field) == 0) continue;
    crd_growing_format(file, "%s[", separator);
    put_stack(file, tree, i);
    crd_growing_words(file, "]");
    separator = ",\n";
  }
  crd_growing_words(file, "],\n\"weights\":[");
  separator = "";
  for (uint32_t i = 1; i < tree->node_count; i++) {
    uint64_t weight = weight_of(&tree->nodes[i], field);
    if (weight == 0) continue;
    crd_growing_format(file, "%s%" PRIu64, separator, weight);
    separator = ",";
  }
  crd_growing_words(file, "]}");
}

/* The bytes of reservations, and of objects that no collection has met. */
static uint64_t unknown_bytes(const crd_call_tree *tree) {
  return sum_of(tree, offsetof(crd_tree_node, allocated)) - sum_of(tree, offsetof(crd_tree_node, survived)) -
         sum_of(tree, offsetof(crd_tree_node, died));
}

void crd_speedscope_write(crd_growing_text *file, const crd_call_tree *tree, const crd_profile_facts *facts) {
  crd_growing_format(file,
                     "{\"$schema\":\"" SCHEMA "\",\n\"exporter\":\"cradle %d.%d.%d\",\n"
                     "\"name\":\"allocation, process %" PRIu64 ", heap %" PRIu64 "\",\n"
                     "\"activeProfileIndex\":0,\n",
                     CRADLE_VERSION_MAJOR, CRADLE_VERSION_MINOR, CRADLE_VERSION_PATCH, facts->process, facts->heap);
  crd_growing_format(file,
                     "\"cradle\":{\"format\":%d,\"interval_bytes\":%" PRIu64 ",\"seed\":%" PRIu64
                     ",\"samples\":%" PRIu64 ",\"lost_samples\":%" PRIu64 ",\"unknown_fate_bytes\":%" PRIu64 "},\n",
                     FORMAT_VERSION, facts->interval_bytes, facts->seed, facts->samples, facts->lost,
                     unknown_bytes(tree));
  put_frames(file, tree);
  crd_growing_words(file, "\"profiles\":[\n");
  put_profile(file, tree, "allocated", offsetof(crd_tree_node, allocated));
  crd_growing_words(file, ",\n");
  put_profile(file, tree, "survived", offsetof(crd_tree_node, survived));
  crd_growing_words(file, ",\n");
  put_profile(file, tree, "died young", offsetof(crd_tree_node, died));
  crd_growing_words(file, "]}\n");
}
