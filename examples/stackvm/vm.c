#define _POSIX_C_SOURCE 200809L
#include "vm.h"
#include "system.h"

#include <stdarg.h>
#include <stdlib.h>

/* The maximum heap, at which endless allocation ends, unless CRADLE_GC_MAX gives another. */
#define HEAP_MAX_BYTES ((size_t)1 << 30)

/* --- value arrays --- */

static void array_init(vm *vm, value_array *array, const char *name) {
  array->range = CRADLE_ROOT_RANGE(array->base, array->top, CRADLE_KIND_VALUE, name);
  cradle_root_range_add(vm->mutator, &array->range);
}

static void array_free(vm *vm, value_array *array) {
  cradle_root_range_remove(vm->mutator, &array->range);
  free(array->base);
}

void array_reserve(vm *vm, value_array *array, size_t count) {
  size_t used = array_count(array), room = (size_t)((value *)array->limit - (value *)array->base);
  if (room - used >= count) return;
  room = room * 2 > used + count ? room * 2 : used + count + 256;
  value *base = realloc(array->base, room * sizeof(value));
  if (base == NULL) raise_out_of_memory(vm);
  array->base = base;
  array->top = base + used;
  array->limit = base + room;
}

static void array_append(vm *vm, value_array *array, value v) {
  array_reserve(vm, array, 1);
  value *top = array->top;
  *top = v;
  array->top = top + 1;
}

void push(vm *vm, value v) {
  array_append(vm, &vm->stack, v);
}

/* The number of the value on top of the stack: what the map has for it, or the array's next one. */
CRADLE_MAY_COLLECT static uint32_t number_of(vm *vm, cradle_kit_map **numbers, value_array *array, bool is_constant) {
  value key = to_key(stack_top(vm)[-1]);
  value known = cradle_kit_map_get(&vm->kit, *numbers, key, UNDEFINED);
  if (known == UNDEFINED) {
    size_t count = array_count(array);
    if (count == OPERANDS_MAX)
      raise_error(vm, "there are more than %d %s", OPERANDS_MAX, is_constant ? "constants" : "globals");
    array_reserve(vm, array, 1);
    known = number((double)count);
    cradle_kit_map_set(&vm->kit, *numbers, key, known);
    array_append(vm, array, is_constant ? stack_top(vm)[-1] : UNDEFINED);
  }
  pop(vm);
  return (uint32_t)to_double(known);
}

uint32_t global_number(vm *vm) {
  return number_of(vm, &vm->global_numbers, &vm->globals, false);
}
uint32_t constant_number(vm *vm) {
  return number_of(vm, &vm->constant_numbers, &vm->constants, true);
}

/* --- upvalues --- */

void close_upvalues(vm *vm, size_t slot) {
  while (vm->open_upvalues != NULL && vm->open_upvalues->slot >= slot) {
    upvalue *closing = vm->open_upvalues;
    vm->open_upvalues = closing->next;
    closing->next = NULL;
    cradle_store_value(vm->mutator, closing, &closing->closed, stack_base(vm)[closing->slot]);
    closing->slot = CLOSED;
  }
}

/* --- errors --- */

_Noreturn static void leave(vm *vm) {
  if (vm->protection == NULL) {
    fprintf(stderr, "stackvm: %s\n", vm->message);
    exit(1);
  }
  longjmp(vm->protection->landing, 1);
}

void raise_error(vm *vm, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(vm->message, sizeof vm->message, format, arguments);
  va_end(arguments);
  vm->thrown = UNDEFINED;
  leave(vm);
}

void raise_value(vm *vm, value thrown) {
  vm->thrown = thrown;
  leave(vm);
}

void raise_out_of_memory(vm *vm) {
  raise_value(vm, vm->out_of_memory);
}

/* --- when memory runs out --- */

/* By how much the maximum is raised. */
static size_t spare_bytes(const vm *vm) {
  size_t part = vm->heap_max / 16, least = (size_t)4 << 20;
  return part > least ? part : least;
}

/* Raises the maximum, because the code that handles the error needs some memory before it can drop the objects that
 * hold the rest. */
CRADLE_MAY_COLLECT static void raise_heap_max(vm *vm) {
  size_t raised = vm->heap_max_now + spare_bytes(vm);
  vm->is_out_of_memory = false;
  if (vm->heap_max == 0 || !vm->may_raise_max || !cradle_heap_set_max(vm->mutator, raised, NULL)) return;
  vm->heap_max_now = raised;
  vm->may_raise_max = false;
}

/* Puts the maximum back, if that leaves enough room beside the live objects for the program that runs next. */
void settle_heap_max(vm *vm) {
  vm->may_raise_max = true;
  if (vm->heap_max_now == vm->heap_max) return;
  if (cradle_heap_set_max(vm->mutator, vm->heap_max, NULL)) vm->heap_max_now = vm->heap_max;
}

bool protect(vm *vm, protected_function function, void *data) {
  protection protection = {.outer = vm->protection, .checkpoint = cradle_checkpoint_save(vm->mutator)};
  vm->protection = &protection;
  bool is_whole = setjmp(protection.landing) == 0;
  if (is_whole)
    function(vm, data);
  else
    cradle_checkpoint_restore(vm->mutator, &protection.checkpoint);
  if (vm->is_out_of_memory) raise_heap_max(vm);
  vm->protection = protection.outer;
  return is_whole;
}

value take_error(vm *vm) {
  value error = vm->thrown;
  if (error == UNDEFINED) return object(cradle_kit_string_new(&vm->kit, vm->message, strlen(vm->message)));
  vm->thrown = UNDEFINED;
  return error;
}

enum { SHOWN_BYTES = 1000 };

static uint32_t frame_line(const frame *frame) {
  return prototype_line(frame->prototype, (size_t)(frame->next - frame->prototype->code) - 1);
}

/* A name or a thrown text from the program may contain any bytes, and the output may be a terminal. */
static void print_shown(const char *text, size_t length) {
  size_t shown = length < SHOWN_BYTES ? length : SHOWN_BYTES - 4;
  for (size_t i = 0; i < shown; i++) {
    unsigned char byte = (unsigned char)text[i], before = i == 0 ? 0 : (unsigned char)text[i - 1];
    unsigned char next = i + 1 < length ? (unsigned char)text[i + 1] : 0;
    /* A terminal, in UTF-8: the second line of control characters has two bytes. */
    bool controls = byte < ' ' || byte == 0x7f || (before == 0xc2 && byte < 0xa0) || (byte == 0xc2 && next < 0xa0);
    putc(controls ? '?' : byte, stderr);
  }
  if (shown < length) fputs("...", stderr);
}

static void print_place(const char *file, uint32_t line) {
  print_shown(file, strlen(file));
  fprintf(stderr, ":%u", line);
}

/* Writes into a fixed buffer, as large as what is shown, because out of memory is a thrown value, too. */
static void print_thrown(value thrown) {
  char text[SHOWN_BYTES + 1];
  FILE *file = memory_file_open(text, sizeof text);
  if (file == NULL) return;
  print_value(thrown, file);
  memory_file_close(file, text, sizeof text);
  print_shown(text, strlen(text));
}

void report_error(vm *vm) {
  enum { SHOWN = 8 };
  uint32_t count = vm->frame_count;
  fflush(stdout);
  if (count > 0)
    print_place(vm->frames[count - 1].prototype->file, frame_line(&vm->frames[count - 1]));
  else
    print_place(vm->file, vm->line);
  fputs(": ", stderr);
  if (vm->thrown == UNDEFINED) {
    print_shown(vm->message, strlen(vm->message));
  } else {
    if (vm->thrown != vm->out_of_memory) fputs("thrown: ", stderr);
    print_thrown(vm->thrown);
  }
  fputc('\n', stderr);
  for (uint32_t i = count; i > 0 && count > 1 && count - i < SHOWN; i--) {
    const frame *frame = &vm->frames[i - 1];
    fputs("  in ", stderr);
    print_shown(frame->prototype->name, strlen(frame->prototype->name));
    fputs(", ", stderr);
    print_place(frame->prototype->file, frame_line(frame));
    fputc('\n', stderr);
  }
  if (count > SHOWN) fprintf(stderr, "  and %u more\n", count - SHOWN);
}

void forget_error(vm *vm) {
  close_upvalues(vm, 0);
  vm->thrown = UNDEFINED;
  vm->frame_count = vm->handler_count = 0;
  vm->stack.top = vm->stack.base;
}

/* --- the stack for the profiler (docs/profiler.md) --- */

static size_t profiled_frames(void *data, cradle_mutator *mutator, cradle_frame *frames, size_t capacity) {
  const vm *vm = data;
  (void)mutator;
  for (size_t i = 0; i < vm->frame_count && i < capacity; i++) {
    const frame *frame = &vm->frames[vm->frame_count - 1 - i];
    frames[i] = (cradle_frame){.name = frame->prototype->name,
                               .file = frame->prototype->file,
                               .line = frame_line(frame),
                               .id = (uint64_t)(uintptr_t)frame->prototype};
  }
  return vm->frame_count;
}

/* --- start and end --- */

static void out_of_memory(void *data, cradle_mutator *mutator, size_t size, const char *message) {
  vm *vm = data;
  (void)mutator, (void)size, (void)message;
  vm->is_out_of_memory = true;
  raise_out_of_memory(vm);
}

void vm_start(vm *vm, const char *image_path) {
  cradle_image image = {.path = image_path, .sealed = true};
  cradle_options options;
  cradle_error error;
  *vm = (struct vm){.thrown = UNDEFINED, .state = NIL, .out_of_memory = UNDEFINED, .message = "out of memory"};
  cradle_options_init(&options);
  options.types = object_types;
  options.type_count = T_COUNT;
  options.gc_threads = CRADLE_GC_THREADS_AUTO;
  options.encoding = cradle_encoding_of(REFERENCE, REFERENCE, 1 << 0);
  options.heap_max_bytes = HEAP_MAX_BYTES;
  options.on_out_of_memory = out_of_memory;
  options.user = vm;
  options.stack = (cradle_stack){profiled_frames, vm};
  image.symbols = image_symbols(&image.symbol_count);
  if (image_path != NULL) options.image = &image;
  vm->heap = cradle_heap_new_from_environment(&options, &error);
  if (vm->heap == NULL) raise_error(vm, "%s", error.message);
  cradle_statistics now; /* the environment may have chosen another maximum */
  cradle_heap_statistics(vm->heap, &now, sizeof now);
  vm->heap_max = vm->heap_max_now = now.heap_max_bytes;
  vm->mutator = cradle_mutator_new(vm->heap);
  if (vm->mutator == NULL) raise_out_of_memory(vm);
  cradle_kit_init(&vm->kit, vm->mutator, T_KIT);
  array_init(vm, &vm->stack, "value stack");
  array_init(vm, &vm->constants, "constants");
  array_init(vm, &vm->globals, "globals");
  cradle_global_root_add(vm->heap, &vm->open_upvalues, CRADLE_KIND_REFERENCE);
  cradle_global_root_add(vm->heap, &vm->constant_numbers, CRADLE_KIND_REFERENCE);
  cradle_global_root_add(vm->heap, &vm->global_numbers, CRADLE_KIND_REFERENCE);
  cradle_global_root_add(vm->heap, &vm->thrown, CRADLE_KIND_VALUE);
  cradle_global_root_add(vm->heap, &vm->out_of_memory, CRADLE_KIND_VALUE);
  cradle_global_root_add(vm->heap, &vm->state, CRADLE_KIND_VALUE);
  vm->out_of_memory = object(cradle_kit_string_new(&vm->kit, vm->message, strlen(vm->message)));
  if (image_path != NULL) {
    take_image(vm);
    return;
  }
  vm->constant_numbers = cradle_kit_map_new(&vm->kit, &cradle_kit_keys_strings);
  vm->global_numbers = cradle_kit_map_new(&vm->kit, &cradle_kit_keys_strings);
  define_builtins(vm);
}

void vm_stop(vm *vm) {
  for (uint32_t i = 0; i < vm->prototype_count; i++) prototype_free(vm->prototypes[i]);
  free(vm->prototypes);
  free(vm->frames);
  free(vm->handlers);
  array_free(vm, &vm->stack);
  array_free(vm, &vm->constants);
  array_free(vm, &vm->globals);
  cradle_mutator_free(vm->mutator);
  cradle_heap_free(vm->heap);
}
