/* The procedures that run, for the allocation profiler (docs/profiler.md). Each evaluation has an activation in its C
 * frame, which leads to the environment of the procedure that it runs, and an environment to its closure. */
#include "scheme.h"

#include <string.h>

/* A name may lie in an object, and no zero byte ends it. */
static void copy_text(char *to, size_t room, const cradle_kit_string *text) {
  size_t length = text->length < room ? text->length : room - 1;
  memcpy(to, text->bytes, length);
  to[length] = '\0';
}

static cradle_frame frame_of_procedure(const scheme *s, const lambda *l, procedure_name *name) {
  cradle_frame made = {.name = l->where == 0 ? "(top level)" : "(lambda)"};
  if (is_symbol(l->name)) {
    const cradle_kit_string *text = ((const cradle_kit_symbol *)object_of(l->name))->name;
    copy_text(name->name, sizeof name->name, text);
    made.name = name->name[0] == ' ' ? "(do)" : name->name; /* which the syntax names so that no program can */
  }
  if (l->where != 0) {
    copy_text(name->file, sizeof name->file, object_of(cradle_kit_list_get(s->files, l->where >> 32)));
    made.file = name->file;
    made.line = (uint32_t)l->where;
  }
  return made;
}

/* Several evaluations in a row may run one procedure. */
size_t profiled_frames(void *data, cradle_mutator *m, cradle_frame *frames, size_t capacity) {
  scheme *s = data;
  (void)m;
  const frame *last = NULL;
  size_t count = 0;
  for (const activation *a = s->activations; a != NULL && count <= capacity; a = a->outer) {
    if (*a->env == last) continue;
    last = *a->env;
    if (count < capacity) frames[count] = frame_of_procedure(s, last->procedure->lambda, &s->procedure_names[count]);
    count++;
  }
  return count;
}
