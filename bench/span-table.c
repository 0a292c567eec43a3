/* The table of size classes of a live heap, and what the rules for spans give: span-table
 *
 * The heap holds one object of every class: what its spans take then is the floor that a program with few objects of
 * many sizes pays. Below it, the rules of Seastar's allocator before and after its patch of 2017, on its own classes
 * (four a doubling, 8 bytes to 16 KiB), against Cradle's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cradle/cradle.h>

enum { PAGE = 4096, CLASSES_MAX = 128, SMALL_MAX_BYTES = 8192 };

typedef struct bytes {
  uint64_t header, length;
  char data[];
} bytes;

/* --- a live heap --- */

static double percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * (double)part / (double)whole;
}

/* A row of the table is what the event CRADLE_EVENT_SPANS says. */
typedef struct span_row {
  unsigned object_bytes, span_bytes, span_objects;
  uint64_t spans, used_bytes, memory_bytes;
} span_row;
typedef struct table {
  span_row *rows;
  size_t count;
} table;

static void listen(void *data, const cradle_event *event) {
  table *all = data;
  if (event->kind == CRADLE_EVENT_MAJOR_BEGIN) all->count = 0;
  if (event->kind != CRADLE_EVENT_SPANS || all->count == CLASSES_MAX) return;
  all->rows[all->count++] = (span_row){(unsigned)event->u.spans.object_bytes,
                                       (unsigned)event->u.spans.span_bytes,
                                       (unsigned)event->u.spans.objects,
                                       event->u.spans.spans,
                                       event->u.spans.used_bytes,
                                       event->u.spans.memory_bytes};
}

static void print_rows(const span_row *rows, size_t count) {
  printf("%8s %8s %8s %8s %10s %10s %7s\n", "objsz", "spansz", "objects", "spans", "used", "memory", "waste");
  for (size_t i = 0; i < count; i++)
    printf("%8u %8u %8u %8llu %10llu %10llu %6.1f%%\n", rows[i].object_bytes, rows[i].span_bytes, rows[i].span_objects,
           (unsigned long long)rows[i].spans, (unsigned long long)rows[i].used_bytes,
           (unsigned long long)rows[i].memory_bytes,
           percent(rows[i].memory_bytes - rows[i].used_bytes, rows[i].memory_bytes));
}

static void add_object(cradle_mutator *m, size_t bytes_in_all) CRADLE_MAY_COLLECT {
  cradle_push(m, CRADLE_NEW_ARRAY(m, bytes, 0, data, length, bytes_in_all - sizeof(bytes)));
}

/* An object of each size shows all classes; then the heap holds one object of each. */
static void fill(cradle_mutator *m, table *all) CRADLE_MAY_COLLECT {
  static size_t sizes[CLASSES_MAX];
  size_t pushed = 0;
  for (size_t size = sizeof(bytes); size <= SMALL_MAX_BYTES; size += 8, pushed++) add_object(m, size);
  cradle_collect(m, CRADLE_COLLECT_FULL);
  size_t count = all->count;
  for (size_t i = 0; i < count; i++) sizes[i] = all->rows[i].object_bytes;
  cradle_pop_many(m, pushed);
  for (size_t i = 0; i < count; i++) add_object(m, sizes[i]);
  cradle_collect(m, CRADLE_COLLECT_FULL);
  cradle_pop_many(m, count);
}

static size_t live_rows(span_row *rows) CRADLE_UNCHECKED_COLLECTION {
  static const cradle_type type = {.name = "bytes",
                                   .size = sizeof(bytes),
                                   .items = CRADLE_ITEMS_BYTES,
                                   .item_size = 1,
                                   .length_offset = offsetof(bytes, length)};
  cradle_options options;
  cradle_options_init(&options);
  options.types = &type;
  options.type_count = 1;
  table all = {.rows = rows};
  options.listener = (cradle_listener){listen, &all};
  cradle_error error;
  cradle_heap *heap = cradle_heap_new_from_environment(&options, &error);
  if (heap == NULL) {
    fprintf(stderr, "span-table: %s\n", error.message);
    exit(1);
  }
  cradle_mutator *m = cradle_mutator_new(heap);
  fill(m, &all);
  size_t count = all.count;
  cradle_mutator_free(m);
  cradle_heap_free(heap);
  return count;
}

/* --- the rules --- */

typedef struct rule_result {
  unsigned classes;
  uint64_t one_span_each; /* bytes */
  double worst_tail, tails;
} rule_result;

static void add(rule_result *result, uint64_t object, uint64_t span) {
  double tail = percent(span % object, span);
  result->classes++;
  result->one_span_each += span;
  result->tails += tail;
  if (tail > result->worst_tail) result->worst_tail = tail;
}

/* Before the patch: the shortest power of two of pages with 32 objects. */
static uint64_t span_before(uint64_t object) {
  uint64_t span = PAGE;
  while (span / object < 32) span *= 2;
  return span;
}

/* Since: the shortest run of pages with 4 objects and less than 5 % of tail. */
static uint64_t span_after(uint64_t object) {
  uint64_t span = PAGE;
  while (span / object < 4 || 20 * (span % object) >= span) span += PAGE;
  return span;
}

static rule_result seastar(uint64_t (*span_of)(uint64_t object)) {
  rule_result result = {0, 0, 0, 0};
  for (unsigned step = 4; (uint64_t)(4 + step % 4) << (step / 4) >> 2 <= 16384; step++) {
    uint64_t object = (uint64_t)(4 + step % 4) << (step / 4) >> 2;
    if (object >= 8) add(&result, object, span_of(object));
  }
  return result;
}

static rule_result ours(const span_row *rows, size_t count) {
  rule_result result = {0, 0, 0, 0};
  for (size_t i = 0; i < count; i++) add(&result, rows[i].object_bytes, rows[i].span_bytes);
  return result;
}

static void print_rule(const char *name, const rule_result *result) {
  printf("%-28s %8u %14.0f %9.2f%% %9.2f%%\n", name, result->classes, (double)result->one_span_each / 1024,
         result->worst_tail, result->tails / result->classes);
}

int main(int argc, char **argv) {
  if (argc > 1) {
    bool is_help = strcmp(argv[1], "--help") == 0;
    if (!is_help) fprintf(stderr, "span-table: no arguments are known: %s\n", argv[1]);
    fputs("usage: span-table\n", is_help ? stdout : stderr);
    return is_help ? 0 : 2;
  }
  span_row rows[CLASSES_MAX];
  size_t count = live_rows(rows);
  print_rows(rows, count);
  rule_result before = seastar(span_before), after = seastar(span_after), here = ours(rows, count);
  printf("\n%-28s %8s %14s %10s %10s\n", "rule", "classes", "one each, KiB", "worst tail", "mean tail");
  print_rule("Seastar before 2017", &before);
  print_rule("Seastar since 2017", &after);
  print_rule("Cradle", &here);
  uint64_t memory = 0;
  for (size_t i = 0; i < count; i++) memory += rows[i].memory_bytes;
  printf("\none object of every class: %llu KiB of spans\n", (unsigned long long)memory / 1024);
  return fflush(stdout) != 0;
}
