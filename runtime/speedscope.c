#include "runtime/speedscope.h"

#include <inttypes.h>
#include <stddef.h>

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"
#define FORMAT_VERSION 1

/* --- strings --- */

/* Bytes of the UTF-8 character at text, 0 when there is none: a byte too many or too few, an
 * overlong form, a surrogate, a number above U+10FFFF. */
static size_t character_bytes(const unsigned char *text) {
  static const struct {
    unsigned char mask, lead;
    uint32_t minimum;
  } forms[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
  for (size_t extra = 0; extra < sizeof forms / sizeof forms[0]; extra++) {
    if ((text[0] & forms[extra].mask) != forms[extra].lead) continue;
    uint32_t character = text[0] & (unsigned char)~forms[extra].mask;
    for (size_t i = 1; i <= extra; i++) {
      if ((text[i] & 0xc0) != 0x80) return 0;
      character = character << 6 | (text[i] & 0x3f);
    }
    bool is_surrogate = character >= 0xd800 && character <= 0xdfff;
    return character < forms[extra].minimum || character > 0x10ffff || is_surrogate ? 0 : extra + 1;
  }
  return 0;
}

/* A byte that is no UTF-8 becomes the character of its number. */
static void put_string(FILE *file, const char *text) {
  putc('"', file);
  for (const unsigned char *p = (const unsigned char *)text; *p != '\0';) {
    size_t bytes = character_bytes(p);
    if (*p == '"' || *p == '\\')
      fprintf(file, "\\%c", *p);
    else if (*p < ' ' || bytes == 0)
      fprintf(file, "\\u%04x", *p);
    else
      fwrite(p, 1, bytes, file);
    p += bytes == 0 ? 1 : bytes;
  }
  putc('"', file);
}

/* --- the parts --- */

static void put_frame(FILE *file, const crd_tree_frame *frame) {
  fputs("{\"name\":", file);
  put_string(file, frame->name);
  if (frame->file != NULL) {
    fputs(",\"file\":", file);
    put_string(file, frame->file);
  }
  if (frame->key.line != 0) fprintf(file, ",\"line\":%" PRIu32, frame->key.line);
  putc('}', file);
}

static void put_frames(FILE *file, const crd_call_tree *tree) {
  fputs("\"shared\":{\"frames\":[", file);
  for (uint32_t i = 0; i < tree->frame_count; i++) {
    fputs(i == 0 ? "\n" : ",\n", file);
    put_frame(file, &tree->frames[i]);
  }
  fputs("]},\n", file);
}

static void put_stack(FILE *file, const crd_call_tree *tree, uint32_t node) {
  uint32_t parent = tree->nodes[node].parent;
  if (parent != 0) {
    put_stack(file, tree, parent);
    putc(',', file);
  }
  fprintf(file, "%" PRIu32, tree->nodes[node].frame);
}

/* The field of a node that a profile is made of. */
static uint64_t weight_of(const crd_tree_node *node, size_t field) {
  return *(const uint64_t *)((const char *)node + field);
}

static uint64_t sum_of(const crd_call_tree *tree, size_t field) {
  uint64_t sum = 0;
  for (uint32_t i = 1; i < tree->node_count; i++) sum += weight_of(&tree->nodes[i], field);
  return sum;
}

static void put_profile(FILE *file, const crd_call_tree *tree, const char *name, size_t field) {
  const char *separator = "";
  fprintf(file,
          "{\"type\":\"sampled\",\"name\":\"%s\",\"unit\":\"bytes\",\"startValue\":0,"
          "\"endValue\":%" PRIu64 ",\n\"samples\":[",
          name, sum_of(tree, field));
  for (uint32_t i = 1; i < tree->node_count; i++) {
    if (weight_of(&tree->nodes[i], field) == 0) continue;
    fprintf(file, "%s[", separator);
    put_stack(file, tree, i);
    putc(']', file);
    separator = ",\n";
  }
  fputs("],\n\"weights\":[", file);
  separator = "";
  for (uint32_t i = 1; i < tree->node_count; i++) {
    uint64_t weight = weight_of(&tree->nodes[i], field);
    if (weight == 0) continue;
    fprintf(file, "%s%" PRIu64, separator, weight);
    separator = ",";
  }
  fputs("]}", file);
}

/* Of a reservation, and of what had met no collection yet. */
static uint64_t unknown_bytes(const crd_call_tree *tree) {
  return sum_of(tree, offsetof(crd_tree_node, allocated)) - sum_of(tree, offsetof(crd_tree_node, survived)) -
         sum_of(tree, offsetof(crd_tree_node, died));
}

void crd_speedscope_write(FILE *file, const crd_call_tree *tree, const crd_profile_facts *facts) {
  fprintf(file,
          "{\"$schema\":\"" SCHEMA "\",\n\"exporter\":\"cradle %d.%d.%d\",\n"
          "\"name\":\"allocation, process %" PRIu64 ", heap %" PRIu64 "\",\n"
          "\"activeProfileIndex\":0,\n",
          CRADLE_VERSION_MAJOR, CRADLE_VERSION_MINOR, CRADLE_VERSION_PATCH, facts->process, facts->heap);
  fprintf(file,
          "\"cradle\":{\"format\":%d,\"interval_bytes\":%" PRIu64 ",\"seed\":%" PRIu64 ",\"samples\":%" PRIu64
          ",\"lost_samples\":%" PRIu64 ",\"unknown_fate_bytes\":%" PRIu64 "},\n",
          FORMAT_VERSION, facts->interval_bytes, facts->seed, facts->samples, facts->lost, unknown_bytes(tree));
  put_frames(file, tree);
  fputs("\"profiles\":[\n", file);
  put_profile(file, tree, "allocated", offsetof(crd_tree_node, allocated));
  fputs(",\n", file);
  put_profile(file, tree, "survived", offsetof(crd_tree_node, survived));
  fputs(",\n", file);
  put_profile(file, tree, "died young", offsetof(crd_tree_node, died));
  fputs("]}\n", file);
}
