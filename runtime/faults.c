#include "runtime/faults.h"

#include <cradle/heap.h>
#include <cradle/statistics.h>

#include "runtime/report.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <execinfo.h>
#endif

#define HEAPS_MOST 64
#define FRAMES_MOST 24
/* Where the last collections were triggered is kept for so many. */
#define TRIGGERS 64
#define OWN_STACK_BYTES ((size_t)64 << 10)
#define LINE_BYTES 512
/* What backtrace takes of a stack (4 KiB with glibc 2.36 on x86-64), and a quarter of that more. */
#define UNWINDER_BYTES 5120
/* For so long others wait for a report: one that faults itself may never end. */
#define REPORT_MOST_MS 1000

typedef struct trigger {
  uint64_t collection;
  cradle_cause cause;
  int depth;
  void *frames[FRAMES_MOST];
} trigger;

struct crd_faults {
  cradle_heap *heap;
  cradle_listener next;
  cradle_fault_report how;
  char *stack;          /* the signal stack that the thread which started the heap was given; NULL: it needed none */
  uint64_t collections; /* minor ones that began */
  trigger triggers[TRIGGERS];
};

/* [faults.2] heaps: read by the handler without the lock. */
static crd_faults *heaps[HEAPS_MOST];
static size_t heap_count;
static crd_process_lock lock;
static const int signals[] = {SIGSEGV, SIGBUS};
#define SIGNALS (sizeof signals / sizeof *signals)
static bool installed[SIGNALS]; /* and not taken away: a handler that came later may still call ours */
static struct sigaction before[SIGNALS];
static pid_t reporting;    /* the process while a thread of it reports */
static pthread_t reporter; /* that thread */
static uintptr_t
    reported_at[2]; /* address and program counter of the last report: a handler may return to the same fault */

/* --- lines of text, without printf --- */

typedef struct line {
  char text[LINE_BYTES];
  size_t length;
} line;

static void add(line *to, const char *words) {
  size_t length = strlen(words), room = sizeof to->text - 1 - to->length;
  if (length > room) length = room;
  memcpy(to->text + to->length, words, length);
  to->length += length;
}

static void add_number(line *to, uint64_t number, unsigned base) {
  char digits[24];
  size_t at = sizeof digits - 1;
  digits[at] = '\0';
  do digits[--at] = "0123456789abcdef"[number % base];
  while ((number /= base) != 0);
  add(to, digits + at);
}

static void write_line(line *of) {
  of->text[of->length++] = '\n';
  crd_write_quietly(STDERR_FILENO, of->text, of->length);
}

/* --- the stack --- */

static int take_frames(void **frames, int most) {
#ifdef __GLIBC__
  return backtrace(frames, most);
#else
  (void)frames, (void)most;
  return 0;
#endif
}

static void write_frames(void *const *frames, int depth) {
#ifdef __GLIBC__
  backtrace_symbols_fd(frames, depth, STDERR_FILENO);
#else
  (void)frames, (void)depth;
#endif
}

/* --- where collections were triggered --- */

static void note_trigger(crd_faults *faults, cradle_cause cause) {
  trigger *one = &faults->triggers[++faults->collections % TRIGGERS];
  one->collection = faults->collections;
  one->cause = cause;
  one->depth = take_frames(one->frames, FRAMES_MOST);
}

static void write_trigger(const crd_faults *faults, uint64_t collection, const char *which) {
  const trigger *one = &faults->triggers[collection % TRIGGERS];
  line text = {.length = 0};
  add(&text, "cradle: ");
  add(&text, which);
  add(&text, "minor collection ");
  add_number(&text, collection, 10);
  if (one->collection != collection) {
    add(&text, ", longer ago than its trigger is remembered");
  } else {
    add(&text, ", triggered by: ");
    add(&text, cradle_cause_name(one->cause));
  }
  write_line(&text);
  if (one->collection == collection) write_frames(one->frames, one->depth);
}

static void write_stress(cradle_heap *heap) {
  cradle_statistics stats;
  line text = {.length = 0};
  cradle_heap_statistics(heap, &stats, sizeof stats); /* which only reads */
  if (stats.stress_number == 0) return;
  add(&text, "cradle: the last stress collection has number ");
  add_number(&text, stats.stress_number, 10);
  add(&text, " (CRADLE_STRESS_FIRST, CRADLE_STRESS_LAST)");
  write_line(&text);
}

/* --- the report --- */

/* The registers of the faulting instruction; the program counter apart. An address that the processor does not accept,
 * such as poison, is not told otherwise. */
typedef struct registers {
  uintptr_t of[32];
  size_t count;
  uintptr_t counter;
  uintptr_t stack; /* pointer */
  uintptr_t link;  /* the address to return to right after a call, */
  bool calls_push; /* unless it lies at the stack pointer */
} registers;

static void read_registers(const ucontext_t *context, registers *found) {
#if defined(__linux__) && defined(__x86_64__)
  for (int i = 0; i < REG_RIP; i++) found->of[found->count++] = (uintptr_t)context->uc_mcontext.gregs[i];
  found->counter = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
  found->stack = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
  found->calls_push = true;
#elif defined(__linux__) && defined(__aarch64__)
  for (int i = 0; i < 31; i++) found->of[found->count++] = (uintptr_t)context->uc_mcontext.regs[i];
  found->counter = (uintptr_t)context->uc_mcontext.pc;
  found->stack = (uintptr_t)context->uc_mcontext.sp;
  found->link = (uintptr_t)context->uc_mcontext.regs[30];
#else
  (void)context, (void)found;
#endif
}

/* What a heap knows of the fault: of its address, else, when the kernel tells none, of a register. */
static crd_faults *find(const siginfo_t *info, const registers *registers, cradle_explanation *explanation) {
  for (size_t i = 0; i < HEAPS_MOST; i++) {
    crd_faults *faults = __atomic_load_n(&heaps[i], __ATOMIC_SEQ_CST);
    if (faults == NULL) continue;
    if (cradle_explain_address(faults->heap, info->si_addr, explanation, sizeof *explanation)) return faults;
    for (size_t j = 0; info->si_addr == NULL && j < registers->count; j++)
      if (cradle_explain_address(faults->heap, (void *)registers->of[j], explanation, sizeof *explanation) &&
          explanation->collection == 0)
        return faults;
  }
  return NULL;
}

static CRADLE_NOINLINE void write_stack(const registers *registers) {
  void *frames[FRAMES_MOST];
  int depth = take_frames(frames, FRAMES_MOST), first = 0;
  for (int i = 0; i < depth; i++)
    if ((uintptr_t)frames[i] == registers->counter) first = i;
  write_frames(frames + first, depth - first);
}

static CRADLE_NOINLINE void write_fault(int number, const siginfo_t *info, const char *what) {
  line text = {.length = 0};
  add(&text, number == SIGBUS ? "cradle: SIGBUS" : "cradle: SIGSEGV");
  if (info->si_addr != NULL) {
    add(&text, " at 0x");
    add_number(&text, (uintptr_t)info->si_addr, 16);
  }
  add(&text, what);
  write_line(&text);
}

static CRADLE_NOINLINE void write_explanation(const cradle_explanation *explanation) {
  line text = {.length = 0};
  add(&text, "cradle: ");
  add(&text, explanation->text);
  write_line(&text);
}

/* Whether the program's stack is memory that the heap knows to be dead, where its last word or the next one is: an
 * unwinder would read it. scratch is overwritten. */
static bool runs_on_what_died(const crd_faults *faults, const registers *registers, cradle_explanation *scratch) {
  return cradle_explain_address(faults->heap, (void *)registers->stack, scratch, sizeof *scratch) ||
         cradle_explain_address(faults->heap, (void *)(registers->stack - sizeof(void *)), scratch, sizeof *scratch);
}

/* An unwinder reads the code at the program counter, which is where it cannot be read after a jump there. */
static void write_user(int number, const siginfo_t *info, const registers *registers) {
  if (registers->counter != 0 && registers->counter == (uintptr_t)info->si_addr) {
    void *caller = registers->calls_push ? *(void **)registers->stack : (void *)registers->link;
    write_fault(number, info, ", where the program jumped; a call would return to:");
    write_frames(&caller, 1);
  } else {
    write_fault(number, info, ", used by:");
    write_stack(registers);
  }
}

/* Whether the signal stack that this runs on, if it does, has room for an unwinder. Not a part of its caller's
 * frame. */
static CRADLE_NOINLINE bool has_room(const ucontext_t *context) {
  uintptr_t base = (uintptr_t)context->uc_stack.ss_sp, here = (uintptr_t)__builtin_frame_address(0);
  return here - base >= context->uc_stack.ss_size || here - base >= UNWINDER_BYTES;
}

static CRADLE_NOINLINE void report(int number, const siginfo_t *info, const ucontext_t *context) {
  registers registers = {.count = 0};
  cradle_explanation explanation;
  read_registers(context, &registers);
  const crd_faults *faults = find(info, &registers, &explanation);
  if (faults == NULL) return;
  if (reported_at[0] == (uintptr_t)info->si_addr && reported_at[1] == registers.counter && registers.counter != 0)
    return;
  reported_at[0] = (uintptr_t)info->si_addr, reported_at[1] = registers.counter;
  uint64_t collection = explanation.collection;
  write_explanation(&explanation);
  if (!has_room(context)) {
    write_fault(number, info, "; the signal stack is too small for more");
    return;
  }
  if (runs_on_what_died(faults, &registers, &explanation))
    write_fault(number, info, "; the stack that the program runs on has died");
  else
    write_user(number, info, &registers);
  if (collection != 0) write_trigger(faults, collection, "");
  if (collection != faults->collections && faults->collections != 0)
    write_trigger(faults, faults->collections, "the last collection: ");
  write_stress(faults->heap);
}

/* --- the handler --- */

static void die_by_default(int number, const siginfo_t *info) {
  struct sigaction action = {.sa_handler = SIG_DFL};
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, NULL);
  /* someone sent it: it comes when the handler returns; a fault comes by itself */
  if (info->si_code <= 0) raise(number);
}

static void pass_on(int number, siginfo_t *info, void *context, const struct sigaction *to) {
  if (to->sa_flags & SA_SIGINFO)
    to->sa_sigaction(number, info, context);
  else if (to->sa_handler == SIG_IGN && info->si_code <= 0)
    return;
  else if (to->sa_handler == SIG_DFL || to->sa_handler == SIG_IGN)
    die_by_default(number, info);
  else
    to->sa_handler(number);
}

static bool is_handler(const struct sigaction *action) {
  return (action->sa_flags & SA_SIGINFO) || (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);
}

static void wait_a_millisecond(void) {
  nanosleep(&(struct timespec){0, 1000000}, NULL);
}

/* One thread at a time: the others wait, or their faults would end the process before it is told what was the first.
 * Not where this thread's own report faulted. A child of fork does not have the thread of its parent that reported. */
static bool begin_report(void) {
  pid_t self = getpid();
  for (int i = 0; i < REPORT_MOST_MS; i++) {
    pid_t other = __atomic_load_n(&reporting, __ATOMIC_ACQUIRE);
    if (other != self &&
        __atomic_compare_exchange_n(&reporting, &other, self, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
      reporter = pthread_self();
      return true;
    }
    if (pthread_equal(reporter, pthread_self())) return false;
    wait_a_millisecond();
  }
  return false;
}

static void end_report(void) {
  reporter = (pthread_t){0};
  __atomic_store_n(&reporting, 0, __ATOMIC_RELEASE);
}

/* A heap that has left the list is asked no more then. */
static void wait_for_report(void) {
  for (int i = 0; i < REPORT_MOST_MS && __atomic_load_n(&reporting, __ATOMIC_SEQ_CST) == getpid(); i++)
    wait_a_millisecond();
}

static void on_fault(int number, siginfo_t *info, void *context) {
  int error = errno;
  struct sigaction *to = &before[number == SIGBUS];
  if (info->si_code > 0 && begin_report()) {
    crd_quiet quiet; /* backtrace_symbols_fd writes, too */
    crd_quiet_begin(&quiet);
    report(number, info, context);
    crd_quiet_end(&quiet);
    if (is_handler(to)) end_report(); /* else the process ends by this fault, before it has told of another one */
  }
  errno = error;
  struct sigaction mine = *to;
  if (to->sa_flags & SA_RESETHAND) *to = (struct sigaction){.sa_handler = SIG_DFL};
  pass_on(number, info, context, &mine);
}

/* Calls what the handler calls: the first call of a shared library's function looks for it, which takes kilobytes of a
 * stack that may be a small signal stack then. */
static void warm_up(cradle_heap *heap) {
  int error = errno;
  void *frames[1];
  cradle_explanation explanation = {.text = ""};
  cradle_statistics stats;
  line text = {.length = 0};
  (void)take_frames(frames, 1);
  write_frames(frames, 0);
  cradle_heap_statistics(heap, &stats, sizeof stats);
  (void)cradle_explain_address(heap, NULL, &explanation, sizeof explanation);
  if (begin_report()) {
    crd_quiet quiet;
    crd_quiet_begin(&quiet);
    add(&text, cradle_cause_name(CRADLE_CAUSE_STRESS));
    crd_write_quietly(-1, text.text, 0); /* not an empty message to whoever reads standard error */
    crd_quiet_end(&quiet);
    end_report();
  }
  errno = error;
}

static bool is_ours(const struct sigaction *action) {
  return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_fault;
}

/* --- the signal stack --- */

/* The calling thread's. NULL: it has none. */
static char *current_stack(void) {
  stack_t current;
  if (sigaltstack(NULL, &current) != 0 || (current.ss_flags & SS_DISABLE)) return NULL;
  return current.ss_sp;
}

static bool set_stack(char *stack, int flags) {
  return sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = OWN_STACK_BYTES, .ss_flags = flags}, NULL) == 0;
}

static bool is_stack_of_others(const char *stack, const crd_faults *but) {
  for (size_t i = 0; i < HEAPS_MOST; i++)
    if (heaps[i] != NULL && heaps[i] != but && heaps[i]->stack == stack) return true;
  return false;
}

/* Each thread has its own, because several may fault at a time; the heaps of one thread share it. */
static void take_stack(crd_faults *faults) {
  char *stack = current_stack();
  if (stack == NULL) {
    stack = malloc(OWN_STACK_BYTES);
    if (stack != NULL && !set_stack(stack, 0)) free(stack), stack = NULL;
  } else if (!is_stack_of_others(stack, faults)) {
    stack = NULL; /* the program's */
  }
  faults->stack = stack;
}

/* Of a heap that ends on another thread than it began on, the stack is not freed: that thread may still run on it. */
static void give_stack_back(crd_faults *faults) {
  if (faults->stack == NULL || is_stack_of_others(faults->stack, faults) || current_stack() != faults->stack) return;
  if (set_stack(faults->stack, SS_DISABLE)) free(faults->stack);
}

/* --- the handler comes and goes --- */

static bool is_same(const struct sigaction *a, const struct sigaction *b) {
  if ((a->sa_flags & SA_SIGINFO) != (b->sa_flags & SA_SIGINFO)) return false;
  return (a->sa_flags & SA_SIGINFO) ? a->sa_sigaction == b->sa_sigaction : a->sa_handler == b->sa_handler;
}

/* The flags and mask are those of the handler that was there, so that it finds what it asked for. */
static void install_in_front(size_t i, const struct sigaction *current, bool own_stack_wanted) {
  struct sigaction action = {.sa_sigaction = on_fault, .sa_mask = current->sa_mask};
  bool none_before = !(current->sa_flags & SA_SIGINFO) && current->sa_handler == SIG_DFL;
  action.sa_flags = SA_SIGINFO | (current->sa_flags & (SA_NODEFER | SA_ONSTACK | SA_RESTART));
  if (none_before || own_stack_wanted) action.sa_flags |= SA_ONSTACK;
  before[i] = *current;
  installed[i] = true;
  sigaction(signals[i], &action, NULL);
}

/* A handler that the program installed after ours may call it. Where there is none, nobody does; nor does the one that
 * ours calls, or the two would call each other without end. */
static void install(bool own_stack_wanted) {
  for (size_t i = 0; i < SIGNALS; i++) {
    struct sigaction current;
    sigaction(signals[i], NULL, &current);
    if (is_ours(&current)) {
      if (!own_stack_wanted || (current.sa_flags & SA_ONSTACK)) continue;
      current.sa_flags |= SA_ONSTACK;
      sigaction(signals[i], &current, NULL);
    } else if (!installed[i] || !is_handler(&current) || is_same(&current, &before[i])) {
      install_in_front(i, &current, own_stack_wanted);
    }
  }
}

static void uninstall(void) {
  for (size_t i = 0; i < SIGNALS; i++) {
    struct sigaction current;
    sigaction(signals[i], NULL, &current);
    if (!is_ours(&current)) continue; /* [faults.2] */
    sigaction(signals[i], &before[i], NULL);
    installed[i] = false;
  }
}

/* --- the heaps --- */

static void put_in_list(crd_faults *from, crd_faults *to) {
  for (size_t i = 0; i < HEAPS_MOST; i++) {
    if (heaps[i] != from) continue;
    __atomic_store_n(&heaps[i], to, __ATOMIC_SEQ_CST);
    heap_count += to != NULL ? 1 : (size_t)-1;
    return;
  }
  if (to != NULL) crd_report("CRADLE_FAULTS: more than %d heaps; those of the others are not reported", HEAPS_MOST);
}

static void end(crd_faults *faults) {
  crd_process_lock_take(&lock);
  put_in_list(faults, NULL);
  give_stack_back(faults);
  if (heap_count == 0) uninstall();
  crd_process_lock_release(&lock);
  wait_for_report();
  free(faults);
}

static void listen(void *data, const cradle_event *event) {
  crd_faults *faults = data;
  cradle_listener next = faults->next;
  if (event->kind == CRADLE_EVENT_MINOR_BEGIN) note_trigger(faults, event->u.begin.cause);
  if (event->kind == CRADLE_EVENT_HEAP_DESTROYED && faults->heap != NULL) end(faults);
  if (next.function != NULL) next.function(next.data, event);
}

crd_faults *crd_faults_open(cradle_options *options) {
  if (options->fault_report == CRADLE_FAULTS_LEFT) return NULL;
  crd_faults *faults = calloc(1, sizeof *faults);
  if (faults == NULL) return NULL;
  faults->next = options->listener;
  faults->how = options->fault_report;
  options->listener = (cradle_listener){listen, faults};
  return faults;
}

void crd_faults_hand_over(crd_faults *faults, cradle_heap *heap) {
  faults->heap = heap;
  crd_process_lock_take(&lock);
  if (faults->how == CRADLE_FAULTS_OWN_STACK) take_stack(faults);
  warm_up(heap);
  install(faults->how == CRADLE_FAULTS_OWN_STACK);
  put_in_list(NULL, faults);
  crd_process_lock_release(&lock);
}

void crd_faults_close(crd_faults *faults) {
  free(faults);
}
