#include "code.h"

#include <stdlib.h>
#include <string.h>

#define I(name, bytes, takes, effect) bytes,
static const int8_t operand_bytes[] = {INSTRUCTIONS(I)};
#undef I
#define I(name, bytes, takes, effect) takes,
static const int8_t takes_values[] = {INSTRUCTIONS(I)};
#undef I
#define I(name, bytes, takes, effect) effect,
static const int8_t effects[] = {INSTRUCTIONS(I)};
#undef I

int instruction_bytes(instruction instruction) {
  return operand_bytes[instruction];
}
int instruction_takes(instruction instruction) {
  return takes_values[instruction];
}
int instruction_effect(instruction instruction) {
  return effects[instruction];
}

unsigned instruction_extra(instruction instruction) {
  switch (instruction) {
  case DO_ADD_LOCAL:
  case DO_SUBTRACT_LOCAL:
  case DO_ADD_CONSTANT:
  case DO_SUBTRACT_CONSTANT: return 1;
  case DO_INDEX_LOCALS: return 2;
  default: return 0;
  }
}

unsigned instruction_counts(instruction instruction, const uint8_t *operands) {
  switch (instruction) {
  case DO_CALL:
  case DO_LIST:
  case DO_EXTEND_LIST: return operands[0];
  case DO_MAP:
  case DO_EXTEND_MAP: return 2U * operands[0];
  case DO_INVOKE: return operands[4];
  default: return 0;
  }
}

bool grow_array(void **items, size_t item_bytes, uint32_t *room) {
  uint32_t larger = *room == 0 ? 8 : 2 * *room;
  void *grown = larger > *room ? realloc(*items, larger * item_bytes) : NULL;
  if (grown == NULL) return false;
  *items = grown;
  *room = larger;
  return true;
}

static char *copy_text(const char *text, size_t length) {
  char *copy = malloc(length + 1);
  if (copy == NULL) return NULL;
  memcpy(copy, text, length);
  copy[length] = '\0';
  return copy;
}

prototype *prototype_new(const char *name, size_t name_length, const char *file) {
  prototype *made = calloc(1, sizeof *made);
  if (made == NULL) return NULL;
  made->name_bytes = (uint32_t)name_length + 1;
  made->file_bytes = (uint32_t)strlen(file) + 1;
  made->name = copy_text(name, name_length);
  made->file = copy_text(file, strlen(file));
  if (made->name != NULL && made->file != NULL) return made;
  prototype_free(made);
  return NULL;
}

void prototype_free(prototype *prototype) {
  free(prototype->name);
  free(prototype->file);
  free(prototype->code);
  free(prototype->lines);
  free(prototype->upvalues);
  free(prototype->caches);
  free(prototype);
}

uint32_t prototype_line(const prototype *prototype, size_t position) {
  uint32_t line = 0;
  for (uint32_t i = 0; i < prototype->line_count && prototype->lines[i].start <= position; i++)
    line = prototype->lines[i].line;
  return line;
}
