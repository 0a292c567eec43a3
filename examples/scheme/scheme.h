/* A Scheme on Cradle: R5RS's usual procedures, closures, tail calls, hash tables, records, errors with line numbers.
 *
 *   read.c     text to data syntax.c data to code, a tree of nodes eval.c running code, procedures, escapes
 *   print.c    data to text            error.c    errors, and memory running out    main.c     files, the prompt
 *   numbers.c, number_text.c, lists.c, walks.c, text.c, tables.c, control.c: the procedures
 *   image.c    heap images: a library that need not be read again
 *   profile.c  which procedures run, for the allocation profiler
 *
 * What to look at when you embed the collector yourself:
 *   - a value is a word with low tag bits; the collector is told so in one line (main.c) and follows nothing but tag 0;
 *   - everything lives in the heap and moves: data, environments and the code, too;
 *   - arguments of calls lie on the shadow stack, so that a procedure written in C finds args[i] up to date after any
 *     call;
 *   - other locals that are needed after a call that may collect are rooted, with CRADLE_ROOT and CRADLE_ROOT_VALUE;
 *   - errors longjmp, and what they leave is put right by cradle_checkpoint_restore in one place (escape_land in
 *     eval.c).
 */
#ifndef SCHEME_H
#define SCHEME_H

#include <cradle/cradle.h>
#include <cradle/kit.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

/* --- values --- */

typedef uint64_t value;
enum { TAG_REFERENCE = 0, TAG_FIXNUM = 1, TAG_CHARACTER = 2, TAG_SPECIAL = 3, TAG_BITS = 3, TAG_MASK = 7 };
#define SPECIAL(number) ((value)(number) << TAG_BITS | TAG_SPECIAL)
#define FALSE SPECIAL(0)
#define TRUE SPECIAL(1)
#define NIL SPECIAL(2)
#define UNSPECIFIED SPECIAL(3)
#define END_OF_FILE SPECIAL(4)
#define UNBOUND SPECIAL(5) /* a variable without a value; no program sees it */
#define NOT_GIVEN SPECIAL(6)
#define EXIT SPECIAL(7) /* what is raised to end the program */

/* Whole numbers have 61 bits; beyond, results are floating-point numbers. */
#define FIXNUM_MAX ((INT64_C(1) << 60) - 1)
#define FIXNUM_MIN (-(INT64_C(1) << 60))

enum {
  T_PAIR,
  T_SOURCE_PAIR, /* a pair that was read from a text */
  T_FLONUM,
  T_CLOSURE,
  T_PRIMITIVE,
  T_CONTINUATION,
  T_FRAME,
  T_VALUES,
  T_ERROR,
  T_PROMISE,
  T_RECORD_TYPE,
  T_RECORD,
  T_RECORD_PROCEDURE,
  /* nodes of code */
  T_CONSTANT,
  T_LOCAL,
  T_OUTER,
  T_GLOBAL,
  T_SET_LOCAL,
  T_SET_GLOBAL,
  T_IF,
  T_LAMBDA,
  T_SEQUENCE,
  T_AND,
  T_OR,
  T_CALL,
  T_GUARD,
  T_KIT,
  T_STRING = T_KIT + CRADLE_KIT_STRING,
  T_VECTOR = T_KIT + CRADLE_KIT_ARRAY,
  T_TABLE = T_KIT + CRADLE_KIT_MAP,
  T_SYMBOL = T_KIT + CRADLE_KIT_SYMBOL,
  T_COUNT = T_KIT + CRADLE_KIT_TYPES
};

typedef struct pair {
  uint64_t header;
  value car, cdr;
} pair;
typedef struct source_pair {
  pair pair;
  uint64_t where;
} source_pair;
typedef struct flonum {
  uint64_t header;
  double number;
} flonum;
typedef struct
    frame { /* an environment: the variables of one call of a lambda expression, those of its lets included */
  uint64_t header;
  struct closure *procedure; /* its outer is the environment around this one */
  uint64_t length;
  value slots[];
} frame;
typedef struct values {
  uint64_t header;
  uint64_t length;
  value items[];
} values;
typedef struct error {
  uint64_t header;
  value message, irritants; /* a string and a list */
  uint64_t where;
} error;
typedef struct promise {
  uint64_t header;
  value content; /* a procedure, or the value */
  uint64_t is_done;
} promise;
typedef struct record_type {
  uint64_t header;
  value name, fields; /* a symbol and a list of symbols */
} record_type;
typedef struct record {
  uint64_t header;
  record_type *type;
  uint64_t length;
  value fields[];
} record;
typedef enum record_operation { RECORD_MAKE, RECORD_IS, RECORD_GET, RECORD_SET } record_operation;
typedef struct record_procedure {
  uint64_t header;
  record_type *type;
  value name;
  value argument; /* RECORD_MAKE: a list of fields' numbers; get and set: the field's number */
  uint64_t operation;
} record_procedure;

/* --- code --- */

typedef uint64_t node; /* the header of a node; its type says which structure it is */
typedef struct constant {
  node header;
  value constant;
} constant;
typedef struct variable { /* T_LOCAL, T_OUTER */
  node header;
  value symbol;
  uint32_t depth, index; /* frames to go out, slot there */
  uint64_t where;
} variable;
typedef struct global { /* its value is in the symbol */
  node header;
  cradle_kit_symbol *symbol;
  uint64_t where;
} global;
typedef struct set_local {
  node header;
  node *content;
  value symbol;
  uint32_t depth, index;
  bool defines;
  uint64_t where;
} set_local;
typedef struct set_global {
  node header;
  node *content;
  cradle_kit_symbol *symbol;
  bool defines;
  uint64_t where;
} set_global;
typedef struct conditional {
  node header;
  node *test, *consequent, *alternative;
} conditional;
typedef struct lambda {
  node header;
  node *body;
  value name;               /* a symbol, or FALSE */
  uint32_t required, slots; /* parameters without the rest; slots of a frame */
  bool has_rest;
  uint64_t where; /* 0: what stands outside of every lambda expression */
} lambda;
typedef struct sequence { /* T_SEQUENCE, T_AND, T_OR; T_CALL, where the first is the procedure */
  node header;
  uint64_t length;
  uint64_t where;
  node *nodes[];
} sequence;
typedef struct guard {
  node header;
  node *body, *handler;
  uint32_t index; /* slot of the variable that gets what was raised */
} guard;

/* --- procedures --- */

typedef struct closure {
  uint64_t header;
  lambda *lambda;
  frame *outer;
} closure;

typedef struct scheme scheme;
/* args are on the shadow stack: args[0] .. args[count - 1] are current after any call. They are const because writing
 * them needs cradle_peek: collections skip words that count as unchanged. */
typedef value primitive_function(scheme *s, size_t count, const value *args);
typedef struct primitive_row {
  const char *name;
  primitive_function *function;
  int least, most; /* arguments; most -1: any number */
} primitive_row;
typedef struct primitive {
  uint64_t header;
  const primitive_row *row;
} primitive;

/* An evaluation that is under way, for the profiler. It lies in a C frame; the chain goes outward. */
typedef struct activation {
  struct activation *outer;
  frame *const *env; /* a rooted variable */
  scheme *scheme;
} activation;
enum { PROCEDURE_NAME_BYTES = 64, FILE_NAME_BYTES = 192 };
typedef struct procedure_name {
  char name[PROCEDURE_NAME_BYTES], file[FILE_NAME_BYTES];
} procedure_name;

/* An escape: the place to which an error, a raised object or a continuation returns. It lies in a C frame; the chain
 * goes outward. */
typedef struct escape {
  jmp_buf landing;
  cradle_checkpoint checkpoint;
  struct escape *outer;
  uint64_t number;         /* of the continuation that leads here */
  value handlers, winders; /* of the scheme when it was made; main.c's root callback visits them */
  activation *activations;
  struct source *source;
} escape;
typedef struct continuation {
  uint64_t header;
  uint64_t number; /* of its escape; it is dead when no escape of the chain has it */
} continuation;

/* A text that is being read. Owned by the chain in scheme.source. */
typedef struct source {
  struct source *outer;
  char *text;
  const char *at, *end;
  uint32_t line, file; /* from 1; index in scheme.files */
} source;

struct scheme {
  cradle_heap *heap;
  cradle_mutator *m;
  cradle_kit kit;
  cradle_weak_set *symbols;
  /* symbols with a value; this and the rest of the structure up to memory_error are global roots */
  cradle_kit_list *globals;
  cradle_kit_list *files; /* names of the texts that were read */
  /* list of procedures, and numbers of escapes, that wait for raised objects; innermost first, and the number of the
   * outermost escape in the place of () */
  value handlers;
  /* list of dynamic-winds, innermost first: pairs of the "after" procedure and its handlers */
  value winders;
  value transfer;                                    /* the value that an escape carries */
  value memory_error;                                /* made before it is needed */
  activation *activations;                           /* the innermost */
  procedure_name procedure_names[CRADLE_FRAMES_MAX]; /* that the profiler was given last */
  escape *escapes;                                   /* the innermost */
  uint64_t escape_count;
  source *source;           /* the innermost text */
  uint64_t where;           /* of the call that is being made */
  size_t usual_max_bytes;   /* the maximum heap, while memory_ran_out has raised it; else 0 */
  bool tries_usual_max;     /* nobody has tried to put it back since */
  size_t refused_bytes;     /* what was asked for when memory ran out last, since it was raised; 0: it has not */
  char *stack_limit;        /* C's stack must not go below */
  cradle_word *shadow_most; /* nor the shadow stack above, by more than a call's arguments */
  bool wants_exit;
  int exit_status;
};

/* --- small things --- */

static inline void *object_of(value v) {
  return (void *)(uintptr_t)v;
}
static inline value value_of(const void *object) {
  return (value)(uintptr_t)object;
}
static inline bool is_reference(value v) {
  return (v & TAG_MASK) == TAG_REFERENCE;
}
static inline bool is_a(value v, uint32_t type) {
  return is_reference(v) && cradle_type_of(object_of(v)) == type;
}
static inline bool is_pair(value v) {
  return is_reference(v) && cradle_type_of(object_of(v)) <= T_SOURCE_PAIR;
}
static inline bool is_symbol(value v) {
  return is_a(v, T_SYMBOL);
}
static inline bool is_fixnum(value v) {
  return (v & TAG_MASK) == TAG_FIXNUM;
}
static inline bool is_character(value v) {
  return (v & TAG_MASK) == TAG_CHARACTER;
}
static inline value fixnum(int64_t number) {
  return (value)number << TAG_BITS | TAG_FIXNUM;
}
static inline int64_t fixnum_of(value v) {
  return (int64_t)v >> TAG_BITS;
}
static inline value character(uint32_t code) {
  return (value)code << TAG_BITS | TAG_CHARACTER;
}
static inline uint32_t character_of(value v) {
  return (uint32_t)(v >> TAG_BITS);
}
static inline value boolean(bool holds) {
  return holds ? TRUE : FALSE;
}
static inline pair *pair_of(value v) {
  return object_of(v);
}
static inline value car(value v) {
  return pair_of(v)->car;
}
static inline value cdr(value v) {
  return pair_of(v)->cdr;
}
/* The two arguments of "%.*s" that print a string. */
#define TEXT_OF(string) (int)(string)->length, (string)->bytes
static inline uint64_t where_of(uint32_t file, uint32_t line) {
  return (uint64_t)file << 32 | line;
}

/* --- lists.c --- */

value cons(scheme *s, value car, value cdr) CRADLE_MAY_COLLECT;
value list_2(scheme *s, value first, value second) CRADLE_MAY_COLLECT;
/* The number of a list's pairs; -1: it does not end in (), or is a circle. */
int64_t list_length(value list);
value reverse_in_place(scheme *s, value list, value tail);
bool is_eqv(value left, value right);
bool is_equal(scheme *s, value left, value right);

/* --- numbers.c, number_text.c, text.c --- */

bool is_number(value v);
value new_flonum(scheme *s, double number) CRADLE_MAY_COLLECT;
value new_integer(scheme *s, int64_t number) CRADLE_MAY_COLLECT;
/* The number that the whole text spells, or FALSE; NOT_GIVEN: a fraction. */
value parse_number(scheme *s, const char *text, size_t length, int base) CRADLE_MAY_COLLECT;
void number_to_text(value number, int base, char text[72]);
value new_string(scheme *s, const char *bytes, size_t length) CRADLE_MAY_COLLECT;
value symbol(scheme *s, const char *name) CRADLE_MAY_COLLECT;
/* Gives a symbol without a value its first one, as a global variable. From then on the symbol lives as long as the
 * interpreter: text that names it may yet be read. */
void define_global(scheme *s, cradle_kit_symbol *symbol, value content) CRADLE_MAY_COLLECT;
/* Bytes of a character in UTF-8, 1 to 4; and the character at text, which is valid UTF-8. */
size_t put_utf8(char *to, uint32_t code);
uint32_t get_utf8(const char *text, size_t *bytes);
/* The first byte that is not of valid UTF-8, or NULL. */
const char *find_bad_utf8(const char *text, size_t length);

/* --- read.c --- */

/* Takes ownership of the text, which is from malloc, and makes it the innermost source. */
void source_open(scheme *s, char *text, size_t length, const char *name) CRADLE_MAY_COLLECT;
void source_close(scheme *s);
/* The next datum of the innermost source, or END_OF_FILE. */
value read_datum(scheme *s) CRADLE_MAY_COLLECT;
/* Whether a text ends outside of every parenthesis, string and comment. */
bool is_complete(const char *text, size_t length);

/* --- print.c --- */

void print(scheme *s, FILE *to, value v, bool as_written);

/* --- error.c --- */

/* The message is a format of printf's; the irritant, unless it is NOT_GIVEN, is written after it. */
_Noreturn void fail(scheme *s, value irritant, const char *format, ...) CRADLE_MAY_COLLECT
__attribute__((format(printf, 3, 4)));
_Noreturn void fail_at(scheme *s, uint64_t where, value irritant, const char *format, ...) CRADLE_MAY_COLLECT
__attribute__((format(printf, 4, 5)));
_Noreturn void fail_type(scheme *s, value culprit, const char *wanted) CRADLE_MAY_COLLECT;
void memory_ran_out(void *data, cradle_mutator *m, size_t size, const char *message);
/* If memory_ran_out has raised the maximum heap, puts it back if the live objects fit again. Collects if they do not
 * seem to fit. */
bool restore_max(scheme *s) CRADLE_MAY_COLLECT;
/* As restore_max, before a line of the prompt, which needs room in any case. */
void restore_max_or_raise(scheme *s) CRADLE_MAY_COLLECT;
/* "FILE:LINE: message irritants" of what was raised. */
void print_error(scheme *s, FILE *to, value raised);
void init_errors(scheme *s) CRADLE_MAY_COLLECT;

static inline void check_type(scheme *s, value v, uint32_t type, const char *wanted) CRADLE_MAY_COLLECT {
  if (CRADLE_UNLIKELY(!is_a(v, type))) fail_type(s, v, wanted);
}
/* An index below the limit; SIZE_MAX: any count. */
size_t index_of(scheme *s, value v, size_t limit) CRADLE_MAY_COLLECT;

/* --- syntax.c --- */

node *compile(scheme *s, value datum) CRADLE_MAY_COLLECT;

/* --- eval.c --- */

/* Set by the prompt's signal handler to end the running program. It is tested at each call of a closure and at each
 * check of the stack. */
extern volatile sig_atomic_t is_interrupted;
_Noreturn void fail_interrupted(scheme *s) CRADLE_MAY_COLLECT;
static inline void check_interrupt(scheme *s) CRADLE_MAY_COLLECT {
  if (CRADLE_UNLIKELY(is_interrupted)) fail_interrupted(s);
}
/* The C stack must be checked wherever C recurses as deeply as data or programs do. */
_Noreturn void fail_deep(scheme *s) CRADLE_MAY_COLLECT;
static inline void check_stack(scheme *s) CRADLE_MAY_COLLECT {
  check_interrupt(s);
  char here;
  if (CRADLE_UNLIKELY(&here < s->stack_limit || s->m->shadow_top > s->shadow_most)) fail_deep(s);
}
value run(scheme *s, node *code) CRADLE_MAY_COLLECT;
/* Calls the procedure with the count arguments that are on top of the shadow stack, and takes them away. */
value apply(scheme *s, value procedure, size_t count) CRADLE_MAY_COLLECT;
value apply_1(scheme *s, value procedure, value argument) CRADLE_MAY_COLLECT;
bool is_procedure(value v);
/* escape_init, then setjmp(e->landing): 0, and escape_leave when what may escape has returned; else escape_land, which
 * puts the state right and returns what was carried. Roots of the same C function are opened before, or in a block of
 * their own. */
void escape_init(scheme *s, escape *e);
void escape_leave(scheme *s, escape *e);
value escape_land(scheme *s, escape *e) CRADLE_MAY_COLLECT;
_Noreturn void escape_to(scheme *s, escape *to, value transfer) CRADLE_MAY_COLLECT;
/* NULL: it has been left. The number of an escape, as a fixnum, is accepted too. */
escape *find_escape(const scheme *s, value continuation);
_Noreturn void raise_value(scheme *s, value raised) CRADLE_MAY_COLLECT;
static inline value innermost_handler(value handlers) {
  return is_pair(handlers) ? car(handlers) : handlers;
}
/* The handlers without the guards in front that have been left: by an escape that still has "after" procedures to run.
 * The last part, which is the outermost escape's, stays. */
value living_handlers(const scheme *s, value handlers);
/* The most arguments of a call. */
#define ARGUMENTS_MAX 100000

/* --- control.c and the tables of the others --- */

void define_primitives(scheme *s, const primitive_row *rows, size_t count) CRADLE_MAY_COLLECT;
extern const primitive_row number_rows[], number_text_rows[], list_rows[], walk_rows[], text_rows[], table_rows[],
    control_rows[], syntax_rows[]; /* the last: procedures that only code refers to */
extern const size_t number_row_count, number_text_row_count, list_row_count, walk_row_count, text_row_count,
    table_row_count, control_row_count, syntax_row_count;
/* image.c: heap images. The symbols of all rows, from malloc (*count of them); what an image is to have; and, in a heap
 * that was made from an image, the tables of the interpreter. */
cradle_image_symbol *row_symbols(size_t *count);
bool save_image(scheme *s, const char *path) CRADLE_MAY_COLLECT;
void take_image(scheme *s);
/* What syntax.c puts into code by itself. */
value apply_row(scheme *s, size_t count, const value *args) CRADLE_MAY_COLLECT;
value cons_row(scheme *s, size_t count, const value *args) CRADLE_MAY_COLLECT;
value append_row(scheme *s, size_t count, const value *args) CRADLE_MAY_COLLECT;
value list_to_vector_row(scheme *s, size_t count, const value *args) CRADLE_MAY_COLLECT;
value memv_row(scheme *s, size_t count, const value *args) CRADLE_MAY_COLLECT;
value call_with_values_row(scheme *s, size_t count, const value *args) CRADLE_MAY_COLLECT;
value make_promise_row(scheme *s, size_t count, const value *args) CRADLE_MAY_COLLECT;
value raise_row(scheme *s, size_t count, const value *args) CRADLE_MAY_COLLECT;
extern const cradle_kit_keys equal_keys, eqv_keys;
/* Reads and runs the innermost source, and closes it; with prints, each value is printed. */
void run_source(scheme *s, bool prints) CRADLE_MAY_COLLECT;
/* The text of a file, from malloc, or NULL with errno set. */
char *read_file(const char *path, size_t *length);
/* profile.c: the cradle_stack's function. */
size_t profiled_frames(void *data, cradle_mutator *m, cradle_frame *frames, size_t capacity);
/* Reads and runs a file. */
void load(scheme *s, const char *path) CRADLE_MAY_COLLECT;

#endif
