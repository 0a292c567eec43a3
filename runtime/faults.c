/* Reports of faults: if a program dies because it used a stale reference, a message first says which.
 *
 * [faults.1] The handler reports a fault and passes it on to the handler that was installed before it, or to the
 *            signal's default, so that the program dies as it would have. A fault that no heap knows anything about is
 *            passed on without a message. While one thread reports, other threads that fault wait, at most a second,
 *            and while it names lines.
 * [faults.2] The process has one handler and one list of heaps that the handler asks. The first such heap installs the
 *            handler, and the last one removes it, unless the program installed a handler of its own later: then this
 *            handler stays, because the later one may call it. If the program has gone back to the default, to ignoring
 *            or to the handler before this one, nobody calls this handler any more, and the next heap installs it
 *            again. A heap that ends waits for a report on another thread, which may be asking this heap.
 * [faults.3] The handler calls only functions that are safe in a signal handler. backtrace() is safe after its first
 *            call, which is made when the heap starts.
 */
#include "runtime/chain.h"

#include <cradle/statistics.h>

#include "gc/base/check.h"
#include "gc/base/text.h"
#include "gc/platform/backtrace.h"
#include "runtime/platform/fault_signals.h"
#include "runtime/platform/files.h"
#include "runtime/platform/process.h"
#include "runtime/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAPS_MOST 64
/* For how many of the last collections the place that triggered them is kept. */
#define TRIGGERS 64
/* How much stack backtrace() uses (4 KiB with glibc 2.36 on x86-64), and a quarter more. */
#define UNWINDER_BYTES 5120
#define NAME_BYTES 32 /* of a mutator: those that are kept */
/* How long other threads wait for a report; a report that itself faults may never end. */
#define REPORT_MOST_MS 1000

typedef struct trigger {
  uint64_t collection;
  cradle_cause cause;
  char mutator[NAME_BYTES]; /* that collected; empty: the heap has no others */
  crd_backtrace from;
} trigger;

typedef struct crd_faults {
  crd_link link;
  uint64_t collections; /* minor collections that began */
  trigger triggers[TRIGGERS];
  bool is_shared;           /* the heap is for several mutators */
  cradle_statistics latest; /* of a shared heap: when a pause ended last, or an increment began */
} crd_faults;

/* [faults.2] heaps: read by the handler without the lock. */
static crd_faults *heaps[HEAPS_MOST];
static size_t heap_count;
static crd_lock lock;
static int reporting;      /* the process while a thread of it reports */
static uintptr_t reporter; /* that thread */
/* Address and program counter of the last report: a handler may return to the same fault. */
static uintptr_t reported_at[2];

static void write_line(crd_text *of) {
  of->buffer[of->length++] = '\n';
  crd_write_quietly(CRD_STANDARD_ERROR, of->buffer, of->length);
}

/* --- what the calls are in lines --- */

/* How long addr2line may take for the calls of one file. */
#define LINES_MOST_MS 10000

/* The traces that the report has written. The one thread that reports uses all this. */
static struct {
  crd_text of;
  crd_backtrace trace;
} told[3];
static size_t told_count;
static bool is_naming; /* other threads wait longer */

/* is_ours: the innermost calls are the library's own. */
static void keep_calls(const crd_backtrace *trace, const char *of, uint64_t number, bool is_ours) {
  if (told_count == sizeof told / sizeof *told) return;
  told[told_count].of.length = 0;
  crd_text_format(&told[told_count].of, "cradle: the lines of %s", of);
  if (number != 0) crd_text_format(&told[told_count].of, " %" PRIu64, number);
  crd_text_format(&told[told_count].of, "%s:", is_ours ? " (Cradle's own functions come first)" : "");
  told[told_count++].trace = *trace;
}

static void tell_calls(const crd_backtrace *trace, const char *of, uint64_t number) {
  crd_backtrace_write(trace);
  keep_calls(trace, of, number, number != 0);
}

static crd_run_end run_on(const char *program, const char *style, const char *path, const uintptr_t *addresses,
                          size_t count) {
  static crd_text texts[BACKTRACE_MOST];
  const char *arguments[BACKTRACE_MOST + 8] = {program, style, "-f", "-p", "-i", "-e", path};
  for (size_t i = 0; i < count; i++) {
    texts[i].length = 0;
    crd_text_format(&texts[i], "%#" PRIxPTR, addresses[i]);
    arguments[7 + i] = texts[i].buffer;
  }
  return crd_run(arguments, LINES_MOST_MS);
}

typedef struct naming {
  crd_text *heading; /* NULL: it is written. It comes only before lines */
  crd_run_end end;   /* of the last program. After a failure none runs any more */
} naming;

static CRADLE_NOINLINE void write_lines_of(void *data, const char *path, const uintptr_t *addresses, size_t count) {
  naming *it = data;
  if (it->end != CRD_RUN_OK || path == NULL) return;
  if (it->heading != NULL) write_line(it->heading);
  it->heading = NULL;
  it->end = run_on("addr2line", "-C", path, addresses, count);
  if (it->end == CRD_RUN_NONE) it->end = run_on("llvm-symbolizer", "--output-style=GNU", path, addresses, count);
}

/* Comes when the report is complete, because the programs that find lines may be slow, or fail.
 * A program that has more rights than its user runs none of them, because it must not trust PATH. */
static CRADLE_NOINLINE void write_lines(void) {
  static const char *const words[] = {
      [CRD_RUN_FAILED] = "cradle: addr2line failed, so that the other lines are not known",
      [CRD_RUN_LATE] = "cradle: addr2line took more than 10 seconds and was stopped; run the commands above",
      [CRD_RUN_NONE] = "cradle: the lines are not known, because neither addr2line nor llvm-symbolizer can be run; run "
                       "the commands above where one is installed",
  };
  naming it = {.end = CRD_RUN_OK};
  if (crd_has_more_rights_than_user()) return;
  __atomic_store_n(&is_naming, true, __ATOMIC_RELAXED);
  for (size_t i = 0; i < told_count && it.end == CRD_RUN_OK; i++) {
    it.heading = &told[i].of;
    crd_backtrace_each_file(&told[i].trace, write_lines_of, &it);
  }
  __atomic_store_n(&is_naming, false, __ATOMIC_RELAXED);
  if (it.end == CRD_RUN_OK) return;
  crd_text text = {.length = 0};
  crd_text_format(&text, "%s", words[it.end]);
  write_line(&text);
}

/* --- where collections were triggered --- */

static void note_trigger(crd_faults *faults, cradle_cause cause, const char *mutator) {
  trigger *one = &faults->triggers[++faults->collections % TRIGGERS];
  one->collection = faults->collections;
  one->cause = cause;
  snprintf(one->mutator, sizeof one->mutator, "%s", mutator == NULL ? "" : mutator);
  crd_backtrace_take(&one->from);
}

/* How long ago it was: the number of minor collections that began since. */
static void write_trigger(const crd_faults *faults, uint64_t collection, const char *which) {
  const trigger *one = &faults->triggers[collection % TRIGGERS];
  crd_text text = {.length = 0};
  crd_text_format(&text, "cradle: %sminor collection %" PRIu64, which, collection);
  if (collection < faults->collections)
    crd_text_format(&text, " (%" PRIu64 " before the last one)", faults->collections - collection);
  if (one->collection != collection)
    crd_text_format(&text, ", too long ago: what triggered it is no longer known");
  else
    crd_text_format(&text, ", triggered by: %s%s%s", crd_cause_name(one->cause),
                    one->mutator[0] == 0 ? "" : ", collected by: ", one->mutator);
  write_line(&text);
  if (one->collection == collection) tell_calls(&one->from, "minor collection", collection);
}

/* What the heap has done so far, and does now. A shared heap is not asked: that would wait for other mutators, of which
 * one may spin, or collect and wait for this thread. */
static void write_state(const crd_faults *faults) {
  cradle_statistics stats = faults->latest;
  crd_text text = {.length = 0};
  if (!faults->is_shared) cradle_heap_statistics(faults->link.heap, &stats, sizeof stats);
  crd_text_format(&text, "cradle: so far %" PRIu64 " minor and %" PRIu64 " major collections", stats.minor_collections,
                  stats.major_collections);
  if (stats.compactions != 0) crd_text_format(&text, ", %" PRIu64 " of which moved old objects", stats.compactions);
  if (faults->collections != stats.minor_collections)
    crd_text_format(&text, "; minor collection %" PRIu64 " is running", faults->collections);
  if (stats.phase != CRADLE_PHASE_IDLE)
    crd_text_format(&text, "; a major collection is under way: %s", crd_phase_name(stats.phase));
  write_line(&text);
  if (stats.stress_number == 0) return;
  text.length = 0;
  crd_text_format(&text, "cradle: the last stress collection has number %" PRIu64 " (CRADLE_STRESS=N,first=,last=)",
                  stats.stress_number);
  write_line(&text);
}

/* --- the report --- */

/* Asks the heap about the fault's address or, if the system does not report one, about the registers. (Systems report
 * no address that the processor does not accept, such as poison; then only a register has it.) */
static crd_faults *find(const crd_fault_signal *fault, cradle_explanation *explanation) {
  for (size_t i = 0; i < HEAPS_MOST; i++) {
    crd_faults *faults = __atomic_load_n(&heaps[i], __ATOMIC_SEQ_CST);
    if (faults == NULL) continue;
    if (cradle_explain_address(faults->link.heap, fault->address, explanation, sizeof *explanation)) return faults;
    for (size_t j = 0; fault->address == NULL && j < fault->registers.count; j++)
      if (cradle_explain_address(faults->link.heap, (void *)fault->registers.of[j], explanation, sizeof *explanation) &&
          explanation->collection == 0)
        return faults;
  }
  return NULL;
}

static CRADLE_NOINLINE void write_stack(const crd_fault_signal *fault) {
  crd_backtrace trace;
  size_t first = 0;
  crd_backtrace_take(&trace);
  for (size_t i = 0; i < trace.depth; i++)
    if (trace.calls[i] + 1 == fault->registers.counter) first = i;
  trace.depth -= first;
  memmove(trace.calls, trace.calls + first, trace.depth * sizeof *trace.calls);
  if (first != 0) trace.calls[0] = fault->registers.counter; /* not a call: the faulting instruction itself */
  tell_calls(&trace, "the use", 0);
}

static CRADLE_NOINLINE void write_fault(const crd_fault_signal *fault, const char *what) {
  crd_text text = {.length = 0};
  crd_text_format(&text, "cradle: %s", fault->name);
  if (fault->address != NULL) crd_text_format(&text, " at %p", fault->address);
  crd_text_format(&text, "%s", what);
  write_line(&text);
}

static CRADLE_NOINLINE void write_explanation(const cradle_explanation *explanation) {
  crd_text text = {.length = 0};
  crd_text_format(&text, "cradle: %s", explanation->text);
  write_line(&text);
}

/* Whether the last word of the program's stack, or the next word, is memory that the heap knows to be dead: an unwinder
 * would read it and fault. scratch is overwritten. */
static bool runs_on_what_died(const crd_faults *faults, const crd_fault_signal *fault, cradle_explanation *scratch) {
  return cradle_explain_address(faults->link.heap, (void *)fault->registers.stack, scratch, sizeof *scratch) ||
         cradle_explain_address(faults->link.heap, (void *)(fault->registers.stack - sizeof(void *)), scratch,
                                sizeof *scratch);
}

/* An unwinder reads the code at the program counter, which faults if the program jumped to unreadable memory. */
static void write_user(const crd_fault_signal *fault) {
  if (fault->registers.counter != 0 && fault->registers.counter == (uintptr_t)fault->address) {
    uintptr_t caller = fault->registers.calls_push ? *(uintptr_t *)fault->registers.stack : fault->registers.link;
    write_fault(fault, ", where the program jumped; a call there came from:");
    tell_calls(&(crd_backtrace){.depth = 1, .calls = {caller - 1}}, "the call", 0);
  } else {
    write_fault(fault, ", used by:");
    write_stack(fault);
  }
}

/* Whether there is room for an unwinder, if this runs on a signal stack. Not inlined, to keep its variables out of the
 * caller's frame. */
static CRADLE_NOINLINE bool has_room(const crd_fault_signal *fault) {
  uintptr_t from_base = (uintptr_t)__builtin_frame_address(0) - fault->handler_stack;
  return from_base >= fault->handler_stack_bytes || from_base >= UNWINDER_BYTES;
}

static CRADLE_NOINLINE void report(const crd_fault_signal *fault) {
  cradle_explanation explanation;
  const crd_faults *faults = find(fault, &explanation);
  if (faults == NULL) return;
  uintptr_t address = (uintptr_t)fault->address;
  if (reported_at[0] == address && reported_at[1] == fault->registers.counter && fault->registers.counter != 0) return;
  reported_at[0] = address, reported_at[1] = fault->registers.counter;
  uint64_t collection = explanation.collection;
  told_count = 0;
  write_explanation(&explanation);
  if (!has_room(fault)) {
    write_fault(fault, "; the signal stack is too small for more");
    return;
  }
  if (runs_on_what_died(faults, fault, &explanation))
    write_fault(fault, "; the stack that the program runs on has died");
  else
    write_user(fault);
  if (collection != 0) write_trigger(faults, collection, "");
  if (collection != faults->collections && faults->collections != 0)
    write_trigger(faults, faults->collections, "the last collection: ");
  write_state(faults);
  write_lines();
}

/* --- the handler --- */

/* One thread reports at a time. The others wait, or their faults would end the process before the first one is
 * reported. A thread whose own report faulted does not wait. In a child of fork a reporting thread of the parent does
 * not exist. */
static bool begin_report(void) {
  int self = crd_process_number();
  for (int i = 0; i < REPORT_MOST_MS; i++) {
    int other = __atomic_load_n(&reporting, __ATOMIC_ACQUIRE);
    if (other != self &&
        __atomic_compare_exchange_n(&reporting, &other, self, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
      reporter = crd_fault_thread();
      return true;
    }
    if (reporter == crd_fault_thread()) return false;
    if (__atomic_load_n(&is_naming, __ATOMIC_RELAXED)) i = 0;
    crd_thread_rest();
  }
  return false;
}

static void end_report(void) {
  reporter = 0;
  __atomic_store_n(&reporting, 0, __ATOMIC_RELEASE);
}

/* After this, the handler no longer asks a heap that has left the list. */
static void wait_for_report(void) {
  for (int i = 0; i < REPORT_MOST_MS && __atomic_load_n(&reporting, __ATOMIC_SEQ_CST) == crd_process_number(); i++)
    crd_thread_rest();
}

/* The process is about to abort, and has written these calls. Their lines follow if the process reports faults. */
static void name_last_calls(const crd_backtrace *trace, bool is_last) {
  if (reporter != crd_fault_thread()) {
    if (!begin_report()) return;
    told_count = 0;
  }
  keep_calls(trace, is_last ? "the abort" : "the place where the heap was right", 0, true);
  if (!is_last) return;
  write_lines();
  end_report();
}

static void on_fault(const crd_fault_signal *fault) {
  if (!begin_report()) return;
  crd_quiet quiet; /* crd_backtrace_write writes, too */
  crd_quiet_begin(&quiet);
  report(fault);
  crd_quiet_end(&quiet);
  if (fault->is_handled) end_report(); /* else the process ends by this fault, and reports no other */
}

/* Calls what the handler will call. The first call of a shared library's function looks the function up, which takes
 * kilobytes of stack, more than a small signal stack may have. */
static void warm_up(cradle_heap *heap) {
  int error = errno;
  cradle_explanation explanation = {.text = ""};
  cradle_statistics stats;
  crd_text text = {.length = 0};
  crd_backtrace_prepare();
  (void)crd_run(NULL, 0);
  cradle_heap_statistics(heap, &stats, sizeof stats);
  (void)cradle_explain_address(heap, NULL, &explanation, sizeof explanation);
  if (begin_report()) {
    crd_quiet quiet;
    crd_quiet_begin(&quiet);
    crd_text_format(&text, "%s", crd_cause_name(CRADLE_CAUSE_STRESS));
    crd_write_quietly(-1, text.buffer, 0); /* to no file: nobody should see an empty message */
    crd_quiet_end(&quiet);
    end_report();
  }
  errno = error;
}

/* --- the heaps --- */

static void put_in_list(crd_faults *from, crd_faults *to) {
  for (size_t i = 0; i < HEAPS_MOST; i++) {
    if (heaps[i] != from) continue;
    __atomic_store_n(&heaps[i], to, __ATOMIC_SEQ_CST);
    heap_count += to != NULL ? 1 : (size_t)-1;
    return;
  }
  if (to != NULL)
    crd_report("CRADLE_FAULTS: more than %d heaps; faults of the other heaps are not reported", HEAPS_MOST);
}

static void end(void *part) {
  crd_faults *faults = part;
  if (faults->link.heap != NULL) {
    crd_lock_take(&lock);
    put_in_list(faults, NULL);
    if (heap_count == 0) {
      crd_fault_signals_remove(); /* [faults.2] */
      __atomic_store_n(&crd_call_namer, NULL, __ATOMIC_RELEASE);
    }
    crd_lock_release(&lock);
    wait_for_report();
  }
  free(faults);
}

static void listen(void *data, const cradle_event *event) {
  crd_faults *faults = data;
  if (event->kind == CRADLE_EVENT_MINOR_BEGIN) note_trigger(faults, event->u.begin.cause, event->u.begin.mutator);
  if (faults->is_shared && (event->kind == CRADLE_EVENT_PAUSE || event->kind == CRADLE_EVENT_STEP_BEGIN))
    cradle_heap_statistics(faults->link.heap, &faults->latest, sizeof faults->latest);
}

static void begin(void *part) {
  crd_faults *faults = part;
  crd_lock_take(&lock);
  warm_up(faults->link.heap);
  crd_fault_signals_install(on_fault);
  __atomic_store_n(&crd_call_namer, name_last_calls, __ATOMIC_RELEASE);
  put_in_list(NULL, faults);
  crd_lock_release(&lock);
}

crd_link *crd_faults_open(cradle_options *options) {
  if (!options->fault_report) return NULL;
  crd_faults *faults = calloc(1, sizeof *faults);
  if (faults == NULL) {
    crd_report("CRADLE_FAULTS: no memory for reports of faults");
    return NULL;
  }
  faults->link = (crd_link){listen, end, begin, .part = faults};
  faults->is_shared = options->mutators > 1;
  return crd_link_add(&faults->link, options);
}
