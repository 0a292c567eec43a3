/* Reports of faults, and how the library's signal handlers get on with the program's. Each case is a child that faults;
 * its standard error and its end are looked at. */
#include "tests/support/heap_fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <ucontext.h>
#endif

#include "runtime/platform/fault_signals.h"
#include "runtime/platform/process.h"
#include "tests/inside.h"

static char said[32768];

static cradle_heap *heap;
static cradle_mutator *m;

static void put(const char *words) {
  if (write(STDERR_FILENO, words, strlen(words)) < 0) _exit(99);
}

/* --- children --- */

static cradle_listener listener;
static bool is_shared;

static void start(bool report, uint64_t stress_period, size_t quarantine) {
  cradle_options options;
  cradle_error error;
  cradle_options_init(&options);
  options.listener = listener;
  options.mutators = is_shared ? 2 : 1;
  options.types = fixture_types;
  options.type_count = T_COUNT;
  options.nursery_bytes = (size_t)64 << 10;
  options.fault_report = report;
  options.stress_period = stress_period;
  options.quarantine = quarantine;
  heap = cradle_heap_new_from_environment(&options, &error);
  if (heap == NULL) put(error.message), _exit(98);
  m = cradle_mutator_new(heap);
}

static void start_default(void) {
  start(true, 0, 2);
}

/* AddressSanitizer would stop the program before the fault happens. */
__attribute__((no_sanitize("address"), no_sanitize("undefined"), noinline)) static uint64_t use(const pair *object) {
  return (uintptr_t)*(pair *const volatile *)&object->rest;
}

CRADLE_UNCHECKED_COLLECTION static pair *stale(void) {
  pair *object = cradle_new(m, T_PAIR, sizeof(pair));
  cradle_push(m, object);
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  cradle_pop(m);
  return object;
}

static void die_of_stale(void) {
  start_default();
  use(stale());
}

static void die_elsewhere(void) {
  start_default();
  (void)use((pair *)(uintptr_t)64);
}

static void on_fault(int number) {
  (void)number;
  put("the host's handler\n");
  _exit(7);
}

static void host_before(void) {
  signal(SIGSEGV, on_fault);
  die_of_stale();
}

static void host_before_and_not_ours(void) {
  signal(SIGSEGV, on_fault);
  die_elsewhere();
}

static struct sigaction ours;
static void on_fault_chaining(int number, siginfo_t *info, void *context) {
  put("the host's handler\n");
  ours.sa_sigaction(number, info, context);
}

static void host_after(void) {
  start_default();
  struct sigaction action = {.sa_sigaction = on_fault_chaining, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, &ours);
  use(stale());
}

/* A handler in front of ours when the last heap goes, and a heap afterwards: no circle. */
static void host_after_and_another_heap(void) {
  start_default();
  struct sigaction action = {.sa_sigaction = on_fault_chaining, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, &ours);
  cradle_mutator_free(m);
  cradle_heap_free(heap);
  die_of_stale();
}

static _Thread_local sigjmp_buf landing;
static void jump_away(int number, siginfo_t *info, void *context) {
  (void)number, (void)info, (void)context;
  siglongjmp(landing, 1);
}

/* A host that recovers goes on, and the next fault is reported, too: SA_NODEFER holds through ours. */
static void host_recovers(void) {
  struct sigaction action = {.sa_sigaction = jump_away, .sa_flags = SA_SIGINFO | SA_NODEFER};
  sigaction(SIGSEGV, &action, NULL);
  start_default();
  for (volatile int i = 0; i < 2; i++)
    if (sigsetjmp(landing, 0) == 0) use(stale());
  put("recovered\n");
  _exit(7);
}

/* The code where the program counter is cannot be read, which an unwinder wants to. */
__attribute__((no_sanitize("address"), no_sanitize("undefined"), noinline)) static void call(const void *code) {
  void (*function)(void);
  memcpy(&function, &code, sizeof function);
  function();
  put("came back\n");
}
static void jumps_to_what_is_stale(void) {
  struct sigaction action = {.sa_sigaction = jump_away, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  start_default();
  if (sigsetjmp(landing, 1) == 0) call(stale());
  put("recovered\n");
  _exit(7);
}

/* A signal stack of so many bytes with pages below it that are not to be had. */
static void give_stack(size_t size) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (size_t)2 << 20;
  char *reserved = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *end = reserved + room;
  size_t open = (size + page - 1) / page * page;
  if (reserved == MAP_FAILED || mprotect(end - open, open, PROT_READ | PROT_WRITE) != 0) _exit(8);
  stack_t stack = {.ss_sp = end - open, .ss_size = size};
  struct sigaction action = {.sa_sigaction = jump_away, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  if (sigaltstack(&stack, NULL) != 0) _exit(9);
  sigaction(SIGSEGV, &action, NULL);
}

#if defined(__GLIBC__) && !defined(CRADLE_ASAN)
/* A coroutine whose stack is an object that nobody refers to: an unwinder would read it, too. */
static ucontext_t outside, coroutine;

static string *beside;
static bool lives;

static void yield(void) {
  swapcontext(&coroutine, &outside);
  if (lives) use((pair *)(void *)beside);
  put("came back\n");
}
CRADLE_UNCHECKED_COLLECTION static void runs_on_an_object(void) {
  static char room[65536];
  enum { STACK_BYTES = 256 << 10 };
  struct sigaction action = {.sa_sigaction = jump_away, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigaltstack(&(stack_t){.ss_sp = room, .ss_size = sizeof room}, NULL);
  sigaction(SIGSEGV, &action, NULL);
  start_default();
  beside = cradle_new_array(m, T_STRING, STACK_BYTES);
  string *stack = cradle_new_array(m, T_STRING, STACK_BYTES);
  if (lives) cradle_push(m, stack);
  getcontext(&coroutine);
  coroutine.uc_stack = (stack_t){.ss_sp = stack->byte, .ss_size = STACK_BYTES};
  coroutine.uc_link = &outside;
  makecontext(&coroutine, yield, 0);
  swapcontext(&outside, &coroutine);
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  if (sigsetjmp(landing, 1) == 0) swapcontext(&outside, &coroutine);
  put("recovered\n");
  _exit(7);
}
static void runs_on_what_is_dead(void) {
  runs_on_an_object();
}
static void runs_beside_what_is_dead(void) {
  lives = true;
  runs_on_an_object();
}
#endif

/* The size that SIGSTKSZ once was, or what the kernel takes of it and 4 KiB. */
static size_t small_stack(void) {
  size_t size = 8192;
#ifdef _SC_MINSIGSTKSZ
  long least = sysconf(_SC_MINSIGSTKSZ);
  if (least > 0 && (size_t)least + 4096 > size) size = (size_t)least + 4096;
#endif
#ifdef CRADLE_ASAN
  size += (size_t)64 << 10; /* whose frames and interceptors take more */
#endif
  return size;
}

static size_t more; /* than that */

static void recovers_on_a_small_stack(void) {
  give_stack(small_stack() + more);
  start_default();
  if (sigsetjmp(landing, 1) == 0) (void)use((pair *)(uintptr_t)64);
  put("recovered\n");
  if (sigsetjmp(landing, 1) == 0) (void)use(stale());
  put("recovered\n");
  _exit(7);
}

/* The other thread of a shared heap. It goes when it may, and says that it has come. */
static bool other_goes, other_has_come; /* atomic */
static void never_return(void) {
  __atomic_store_n(&other_has_come, true, __ATOMIC_SEQ_CST);
  for (;;) crd_thread_relax();
}
static cradle_event_kind stays_at;
static void stay_in_collection(void *data, const cradle_event *event) {
  (void)data;
  if (event->kind == stays_at && __atomic_load_n(&other_goes, __ATOMIC_SEQ_CST)) never_return();
}

CRADLE_UNCHECKED_COLLECTION static void *be_other(void *unused) {
  cradle_mutator *other = cradle_mutator_new(heap);
  __atomic_store_n(&other_has_come, true, __ATOMIC_SEQ_CST);
  while (!__atomic_load_n(&other_goes, __ATOMIC_SEQ_CST)) cradle_safepoint(other);
  if (listener.function != NULL) cradle_collect(other, CRADLE_COLLECT_MAJOR);
  never_return();
  return unused;
}
static void await_other(void) {
  while (!__atomic_exchange_n(&other_has_come, false, __ATOMIC_SEQ_CST)) crd_thread_relax();
}

/* A report that waits for the other thread does not come out: an alarm ends the child then. */
CRADLE_UNCHECKED_COLLECTION static void die_beside_another(void) {
  pthread_t thread;
  alarm(60);
  is_shared = true;
  start_default();
  pthread_create(&thread, NULL, be_other, NULL);
  await_other();
  pair *object = stale();
  cradle_mutator_park(m);
  __atomic_store_n(&other_goes, true, __ATOMIC_SEQ_CST);
  await_other();
  if (listener.function == NULL) cradle_mutator_unpark(m);
  use(object);
}
static void die_beside_one_that_spins(void) {
  die_beside_another();
}
static void die_while_another_collects(void) {
  listener.function = stay_in_collection;
  stays_at = CRADLE_EVENT_MINOR_BEGIN;
  die_beside_another();
}
static void die_while_another_marks(void) {
  listener.function = stay_in_collection;
  stays_at = CRADLE_EVENT_STEP_BEGIN;
  die_beside_another();
}

/* Nobody reads what is reported. */
static void host_recovers_without_a_reader(void) {
  int ends[2];
  struct sigaction action = {.sa_sigaction = jump_away, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  signal(SIGPIPE, SIG_DFL);
  if (pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0) _exit(8);
  close(ends[0]);
  start_default();
  if (sigsetjmp(landing, 1) == 0) use(stale());
  sigset_t now;
  pthread_sigmask(SIG_BLOCK, NULL, &now);
  _exit(sigismember(&now, SIGPIPE) ? 9 : 7);
}

static uint64_t user_number; /* atomic: the thread that uses the stale reference */
static void *use_stale(void *object) {
  __atomic_store_n(&user_number, crd_thread_id(), __ATOMIC_SEQ_CST);
  if (sigsetjmp(landing, 1) == 0) use(object);
  return NULL;
}

/* Until it is in a system call, and so waits for room; where the system does not say that, for some time. */
static void await_report(void) {
  char activity[THREAD_ACTIVITY_BYTES] = "running";
  while (__atomic_load_n(&user_number, __ATOMIC_SEQ_CST) == 0) usleep(1000);
  while (strcmp(activity, "running") == 0 && crd_thread_activity(user_number, activity)) usleep(1000);
  usleep(100000);
}

static bool is_read;
static void *read_late(void *end) {
  char text[4096];
  await_report();
  usleep(200000);
  __atomic_store_n(&is_read, true, __ATOMIC_SEQ_CST);
  while (read(*(int *)end, text, sizeof text) > 0) {}
  return NULL;
}

/* Another thread's report, which asks the heap, blocks on a full pipe. */
static void heap_ends_while_a_thread_reports(void) {
  static const char filling[4096];
  struct sigaction action = {.sa_sigaction = jump_away, .sa_flags = SA_SIGINFO};
  pthread_t user, reader;
  int ends[2];
  sigaction(SIGSEGV, &action, NULL);
  start_default();
  pair *object = stale();
  cradle_mutator_free(m);
  if (pipe(ends) != 0 || fcntl(ends[1], F_SETPIPE_SZ, sizeof filling) < 0) _exit(8);
  if (write(ends[1], filling, sizeof filling) < 0 || dup2(ends[1], STDERR_FILENO) < 0) _exit(8);
  pthread_create(&user, NULL, use_stale, object);
  pthread_create(&reader, NULL, read_late, &ends[0]);
  await_report();
  cradle_heap_free(heap);
  bool waited = __atomic_load_n(&is_read, __ATOMIC_SEQ_CST);
  pthread_join(user, NULL);
  _exit(waited ? 7 : 9);
}

/* Text for standard error waits in a full pipe for a while, and then arrives. */
static void write_late(void) {
  static char filling[4096], text[32768];
  int ends[2];
  if (pipe(ends) != 0 || fcntl(ends[1], F_SETPIPE_SZ, sizeof filling) < 0) _exit(8);
  if (write(ends[1], filling, sizeof filling) < 0) _exit(8);
  if (fork() != 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]), close(ends[1]);
    return;
  }
  close(ends[1]);
  usleep(300000);
  if (read(ends[0], filling, sizeof filling) != sizeof filling) _exit(8);
  for (ssize_t got; (got = read(ends[0], text, sizeof text)) > 0;)
    if (write(STDERR_FILENO, text, (size_t)got) < 0) break;
  _exit(0);
}

static void *use_stale_late(void *object) {
  usleep(100000); /* the first thread reports, and waits for room */
  return use_stale(object);
}

static void threads_fault_together(void) {
  pthread_t first, second;
  start_default();
  pair *object = stale(), *other = stale();
  write_late();
  pthread_create(&first, NULL, use_stale, object);
  pthread_create(&second, NULL, use_stale_late, other);
  pthread_join(first, NULL);
  pthread_join(second, NULL);
  _exit(7);
}

static void threads_fault_together_and_recover(void) {
  struct sigaction action = {.sa_sigaction = jump_away, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  threads_fault_together();
}

/* No address that the collector knows, and no register that holds poison. */
static void host_recovers_from_null(void) {
  struct sigaction action = {.sa_sigaction = jump_away, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  setenv("CRADLE_LOG", "cradle-log:-", 1);
  start_default();
  if (sigsetjmp(landing, 1) == 0) use((pair *)(0 - (uintptr_t)offsetof(pair, rest)));
  put("recovered\n");
  _exit(7);
}

static cradle_heap *start_small(void) {
  cradle_options options;
  cradle_options_init(&options);
  options.nursery_bytes = (size_t)64 << 10;
  options.reserve_bytes = (size_t)16 << 20;
  options.fault_report = true;
  cradle_heap *made = cradle_heap_new_from_environment(&options, NULL);
  if (made == NULL) _exit(98);
  return made;
}

/* 64 heaps are known; one more is not, until another one ends. */
static void many_heaps(void) {
  cradle_heap *others[64];
  struct sigaction action = {.sa_sigaction = jump_away, .sa_flags = SA_SIGINFO}, now;
  sigaction(SIGSEGV, &action, NULL);
  for (int i = 0; i < 63; i++) others[i] = start_small();
  start_default();
  others[63] = start_small();
  put("65 heaps\n");
  if (sigsetjmp(landing, 1) == 0) use(stale());
  cradle_heap_free(others[63]);
  cradle_heap_free(others[0]);
  cradle_heap *last_heap = heap;
  cradle_mutator *last = m;
  start_default();
  if (sigsetjmp(landing, 1) == 0) use(stale());
  cradle_mutator_free(m);
  cradle_heap_free(heap);
  for (int i = 1; i < 63; i++) cradle_heap_free(others[i]);
  sigaction(SIGSEGV, NULL, &now);
  if (now.sa_sigaction == jump_away) _exit(8);
  cradle_mutator_free(last);
  cradle_heap_free(last_heap);
  sigaction(SIGSEGV, NULL, &now);
  _exit(now.sa_sigaction == jump_away ? 7 : 9);
}

static void *page;
static void open_page(int number, siginfo_t *info, void *context) {
  (void)number, (void)context;
  if (info->si_addr != page) _exit(9);
  mprotect(page, 4096, PROT_READ);
}

/* A host that handles faults in its own memory is not disturbed by our handler. */
static void host_handles_its_own(void) {
  struct sigaction action = {.sa_sigaction = open_page, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  start_default();
  page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (*(volatile char *)page != 0) _exit(8);
  _exit(7);
}

static void host_ignores_sent(void) {
  signal(SIGSEGV, SIG_IGN);
  start_default();
  raise(SIGSEGV);
  put("alive\n");
  _exit(7);
}

static void sent(void) {
  start_default();
  raise(SIGSEGV);
  put("alive\n");
  _exit(7);
}

static void taken_away_with_the_last_heap(void) {
  struct sigaction before, now;
  signal(SIGSEGV, on_fault);
  sigaction(SIGSEGV, NULL, &before);
  start_default();
  cradle_heap *first = heap;
  cradle_mutator *first_mutator = m;
  start_default();
  cradle_mutator_free(m);
  cradle_heap_free(heap);
  sigaction(SIGSEGV, NULL, &now);
  if (now.sa_handler == before.sa_handler) _exit(8);
  cradle_mutator_free(first_mutator);
  cradle_heap_free(first);
  sigaction(SIGSEGV, NULL, &now);
  _exit(now.sa_handler == before.sa_handler && now.sa_flags == before.sa_flags ? 7 : 9);
}

static void nothing_unless_asked_for(void) {
  struct sigaction now;
  start(false, 0, 2);
  sigaction(SIGSEGV, NULL, &now);
  _exit(now.sa_handler == SIG_DFL ? 7 : 9);
}

static struct sigaction handler_now(void) {
  struct sigaction now;
  sigaction(SIGSEGV, NULL, &now);
  return now;
}

static void program_goes_back_to(void (*handler)(int)) {
  start_default();
  signal(SIGSEGV, handler);
  signal(SIGBUS, handler);
  cradle_mutator_free(m);
  cradle_heap_free(heap);
  if (handler_now().sa_handler != handler) _exit(8); /* nothing of ours to take away */
  die_of_stale();
}

static void program_goes_back_to_the_default(void) {
  program_goes_back_to(SIG_DFL);
}

static void program_goes_back_to_ignoring(void) {
  program_goes_back_to(SIG_IGN);
}

static void program_goes_back_to_its_first_handler(void) {
  struct sigaction first = {.sa_sigaction = jump_away, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &first, NULL);
  start_default();
  signal(SIGSEGV, on_fault);
  cradle_mutator_free(m);
  cradle_heap_free(heap);
  sigaction(SIGSEGV, &first, NULL);
  start_default();
  if (sigsetjmp(landing, 1) == 0) use(stale());
  cradle_mutator_free(m);
  cradle_heap_free(heap);
  _exit(handler_now().sa_sigaction == jump_away ? 7 : 9);
}

/* Another handler may call ours, which calls the first handler. */
static void and_to_one_that_calls_ours(void) {
  signal(SIGSEGV, on_fault);
  start_default();
  struct sigaction second = {.sa_sigaction = on_fault_chaining, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &second, &ours);
  signal(SIGSEGV, on_fault);
  start_default();
  sigaction(SIGSEGV, &second, &ours);
  start_default();
  use(stale());
}

/* The reference is read from an object that has gone, and so is poison; the processor tells no address. */
CRADLE_UNCHECKED_COLLECTION static void die_of_poison(void) {
  start(true, 1, 0);
  cradle_push(m, cradle_new(m, T_PAIR, sizeof(pair)));
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  const pair *old = cradle_pop(m);
  for (int i = 0; i < 1000; i++) (void)cradle_new(m, T_PAIR, sizeof(pair)); /* it is swept meanwhile */
  use((const pair *)(uintptr_t)use(old));
}

static void start_verified(void) {
  cradle_options options;
  cradle_options_init(&options);
  options.types = fixture_types;
  options.type_count = T_COUNT;
  options.verify = true;
  heap = cradle_heap_new(&options, NULL);
  if (heap == NULL) _exit(98);
  m = cradle_mutator_new(heap);
}

CRADLE_UNCHECKED_COLLECTION static void collect_with_a_broken_root(void) {
  cradle_push(m, (void *)21);
  cradle_collect(m, CRADLE_COLLECT_MINOR);
}

CRADLE_UNCHECKED_COLLECTION static void die_of_the_first_verification(void) {
  start_verified();
  collect_with_a_broken_root();
}

CRADLE_UNCHECKED_COLLECTION static void die_of_a_later_verification(void) {
  start_verified();
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  collect_with_a_broken_root();
}

/* As if there had been no memory for the history. */
CRADLE_UNCHECKED_COLLECTION static void die_without_a_history(void) {
  start_verified();
  crd_history_close(heap);
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  collect_with_a_broken_root();
}

/* --- the cases --- */

/* The sanitizers give each thread a stack for signals. */
static void set_no_stack(void) {
  stack_t none = {.ss_flags = SS_DISABLE};
  sigaltstack(&none, NULL);
}

/* Runs the function in a child; returns the child's status as waitpid reports it. */
static int end_of(void (*child)(void)) {
  int ends[2], status;
  assert_int_equal(pipe(ends), 0);
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    signal(SIGSEGV, SIG_DFL);
    signal(SIGBUS, SIG_DFL);
    set_no_stack();
    child();
    _exit(0);
  }
  close(ends[1]);
  size_t length = 0;
  for (ssize_t got; (got = read(ends[0], said + length, sizeof said - 1 - length)) > 0;) length += (size_t)got;
  said[length] = '\0';
  close(ends[0]);
  assert_int_equal(waitpid(pid, &status, 0), pid);
  return status;
}

static void assert_died_by(int status, int number) {
  if (!WIFSIGNALED(status) || WTERMSIG(status) != number)
    fail_msg("the child ended with status %#x, having said: %s", status, said);
}

static void assert_exit(int status, int code) {
  if (!WIFEXITED(status) || WEXITSTATUS(status) != code)
    fail_msg("the child ended with status %#x, having said: %s", status, said);
}

static size_t times(const char *words) {
  size_t count = 0;
  for (const char *at = said; (at = strstr(at, words)) != NULL; at++) count++;
  return count;
}

static void assert_said(const char *words, size_t count) {
  if (times(words) != count) fail_msg("\"%s\" comes %zu times, not %zu, in: %s", words, times(words), count, said);
}

#if defined(__GLIBC__) && defined(__x86_64__)
static unsigned long long last_address(const char *trace) {
  const char *end = strstr(trace, "\ncradle:"), *last = strstr(trace, " 0x");
  for (const char *at = last; at != NULL && (end == NULL || at < end); at = strstr(at + 1, " 0x")) last = at;
  return strtoull(last, NULL, 16);
}

/* Whether a trace's first address is in a function. The place of the program is a multiple of a page. */
static void assert_begins_in(const char *trace, uintptr_t function) {
  assert_in_range((strtoull(strstr(trace, " 0x"), NULL, 16) - function) & 4095, 0, 255);
}

/* The use's calls begin in the function that used the reference and end where the program began, as the trigger's do.
 * (On other processors, an unwinder may not get past a signal.) */
static void assert_calls_of_use(void) {
  const char *calls = strstr(said, ", used by:\n"), *trigger = strstr(said, ", triggered by: ");
  assert_begins_in(calls, (uintptr_t)use);
  assert_int_equal(last_address(calls), last_address(trigger));
  assert_int_not_equal(last_address(calls), strtoull(strstr(calls, " 0x"), NULL, 16));
}
#endif

#define REPORT "cradle: stale reference to a pair (object at 0x"

static void a_stale_reference_is_reported(void **state) {
  (void)state;
  assert_died_by(end_of(die_of_stale), SIGSEGV);
  assert_said(REPORT, 1);
  assert_said(", moved by minor collection 1 to 0x", 1);
  assert_said(", 24 bytes, moved by", 1);
  assert_said("), at its word 2\n", 1);
  assert_said("cradle: so far 1 minor and 0 major collections\n", 1);
  assert_said("cradle: SIGSEGV at 0x", 1);
  assert_said("cradle: minor collection 1, triggered by: request\n", 1);
  assert_said("the last collection:", 0);
#ifdef __GLIBC__
  assert_true(times("\naddr2line -f -p -i -e /") >= 2);
  assert_true(times("/test_faults 0x") >= 2); /* the use and the trigger */
  assert_said(", used by:\naddr2line -f -p -i -e /", 1);
  assert_said(", triggered by: request\naddr2line -f -p -i -e /", 1);
#endif
#if defined(__GLIBC__) && defined(__x86_64__)
  assert_calls_of_use();
#endif
}

#if defined(__GLIBC__) && defined(__x86_64__)
/* One heap of the process reports faults, another one is wrong. */
static void die_of_misuse_with_lines(void) {
  start_default();
  die_of_a_later_verification();
}

static void die_after_the_last_heap(void) {
  start_default();
  cradle_mutator_free(m);
  cradle_heap_free(heap);
  crd_abort("cradle: ", "no heap reports faults now");
}

static void die_without_addr2line(void) {
  setenv("PATH", "/nowhere", 1);
  die_of_stale();
}

/* The program that finds lines fails, and writes what it was called with. */
static char failing_folder[] = "/tmp/cradle-faults-XXXXXX", failing_program[64];
static void make_failing_one(void) {
  assert_non_null(mkdtemp(failing_folder));
  snprintf(failing_program, sizeof failing_program, "%s/addr2line", failing_folder);
  FILE *script = fopen(failing_program, "w");
  assert_non_null(script);
  assert_true(fputs("#!/bin/sh\necho \"called with $*\"\nexit 1\n", script) >= 0);
  assert_int_equal(fclose(script), 0);
  assert_int_equal(chmod(failing_program, 0700), 0);
}
static void die_with_a_failing_one(void) {
  setenv("PATH", failing_folder, 1);
  die_of_stale();
}

/* SIGCHLD and waitpid are the program's: they hear nothing of the child that finds lines. */
static volatile sig_atomic_t children;
static void on_child(int number) {
  (void)number;
  children++;
}
static void recovers_and_has_no_child(void) {
  struct sigaction action = {.sa_sigaction = jump_away, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  signal(SIGCHLD, on_child);
  start_default();
  if (sigsetjmp(landing, 1) == 0) use(stale());
  _exit(children == 0 && waitpid(-1, NULL, 0) == -1 ? 7 : 9);
}
#endif

static void calls_are_named_with_their_lines(void **state) {
  (void)state;
#if defined(__GLIBC__) && defined(__x86_64__)
  assert_died_by(end_of(die_of_stale), SIGSEGV);
  const char *use_lines = strstr(said, "cradle: the lines of the use:\nuse at ");
  const char *trigger_lines =
      strstr(said, "cradle: the lines of minor collection 1 (Cradle's own functions come first):"
                   "\n");
  assert_non_null(use_lines);
  assert_non_null(trigger_lines);
  assert_true(strstr(said, "cradle: so far ") < use_lines && use_lines < trigger_lines);
  assert_non_null(strstr(use_lines, "die_of_stale at "));
  assert_non_null(strstr(trigger_lines, "\nstale at "));
  assert_non_null(strstr(use_lines, "test_faults.c:"));
  assert_died_by(end_of(die_of_a_later_verification), SIGABRT);
  assert_said("cradle: the lines of ", 0); /* the heap reports no faults */
  assert_died_by(end_of(die_after_the_last_heap), SIGABRT);
  assert_said("cradle: called from, ", 1);
  assert_said("cradle: the lines of ", 0);
  assert_died_by(end_of(die_of_misuse_with_lines), SIGABRT);
  const char *right = strstr(said, "cradle: the lines of the place where the heap was right (Cradle's own functions");
  const char *abort_lines = strstr(said, "cradle: the lines of the abort (Cradle's own functions come first):\n");
  assert_non_null(right);
  assert_non_null(abort_lines);
  assert_true(strstr(said, "cradle: called from, ") < right && right < abort_lines);
  assert_non_null(strstr(right, "\ndie_of_a_later_verification at "));
  assert_non_null(strstr(abort_lines, "test_faults.c:"));
  assert_non_null(strstr(abort_lines, "\ncrd_abort_here at "));
  assert_died_by(end_of(die_without_addr2line), SIGSEGV);
  assert_said("cradle: the lines are not known, because neither addr2line nor llvm-symbolizer can be run", 1);
  make_failing_one();
  assert_died_by(end_of(die_with_a_failing_one), SIGSEGV);
  assert_true(unlink(failing_program) == 0 && rmdir(failing_folder) == 0);
  assert_said("called with -C -f -p -i -e /", 1);
  assert_said("cradle: addr2line failed, so that the other lines are not known\n", 1);
  assert_exit(end_of(recovers_and_has_no_child), 7);
  assert_said("cradle: the lines of the use:\n", 1);
#else
  print_message("skipped: it takes glibc's backtrace(), and an unwinder that gets past a signal\n");
  skip();
#endif
}

static void another_program_is_run(void **state) {
  (void)state;
#ifdef __linux__
  assert_int_equal(crd_run((const char *[]){"true", NULL}, 10000), CRD_RUN_OK);
  assert_int_equal(crd_run((const char *[]){"false", NULL}, 10000), CRD_RUN_FAILED);
  assert_int_equal(crd_run((const char *[]){"sleep", "1000", NULL}, 5), CRD_RUN_LATE);
#endif
  assert_int_equal(crd_run((const char *[]){"cradle-no-such-program", NULL}, 10000), CRD_RUN_NONE);
  assert_int_equal(crd_run(NULL, 0), CRD_RUN_NONE);
}

static void another_fault_is_passed_on(void **state) {
  (void)state;
  assert_died_by(end_of(die_elsewhere), SIGSEGV);
  assert_string_equal(said, "");
}

static void a_handler_from_before_is_called(void **state) {
  (void)state;
  assert_exit(end_of(host_before), 7);
  assert_said(REPORT, 1);
  assert_said("the host's handler\n", 1);
  assert_true(strstr(said, REPORT) < strstr(said, "the host's handler"));
  assert_exit(end_of(host_before_and_not_ours), 7);
  assert_string_equal(said, "the host's handler\n");
}

static void a_handler_from_afterwards_comes_first(void **state) {
  (void)state;
  assert_died_by(end_of(host_after), SIGSEGV);
  assert_said(REPORT, 1);
  assert_said("the host's handler\n", 1);
  assert_died_by(end_of(host_after_and_another_heap), SIGSEGV);
  assert_said(REPORT, 1);
  assert_said("the host's handler\n", 1);
}

static void a_host_may_recover(void **state) {
  (void)state;
  assert_exit(end_of(host_recovers), 7);
  assert_said(REPORT, 2);
  assert_said("recovered\n", 1);
  assert_exit(end_of(host_recovers_without_a_reader), 7);
  assert_exit(end_of(heap_ends_while_a_thread_reports), 7);
  assert_exit(end_of(host_handles_its_own), 7);
  assert_string_equal(said, "");
  assert_exit(end_of(host_recovers_from_null), 7);
  assert_said("stale", 0);
  assert_said("recovered\n", 1);
}

static void many_heaps_are_known(void **state) {
  (void)state;
  assert_exit(end_of(many_heaps), 7);
  assert_said("cradle: CRADLE_FAULTS: more than 64 heaps; faults of the other heaps are not reported\n65 heaps\n", 1);
  assert_said("CRADLE_FAULTS", 1);
  assert_said(REPORT, 2);
}

static void a_jump_to_a_stale_reference_is_reported(void **state) {
  (void)state;
#if CRD_REGISTERS_KNOWN
  assert_exit(end_of(jumps_to_what_is_stale), 7);
  assert_said(REPORT, 1);
  assert_said(", where the program jumped; a call there came from:\n", 1);
#ifdef __GLIBC__
  assert_said("; a call there came from:\naddr2line -f -p -i -e /", 1);
#endif
#if defined(__GLIBC__) && defined(__x86_64__)
  assert_begins_in(strstr(said, " came from:\n"), (uintptr_t)call);
#endif
  assert_said("cradle: minor collection 1, triggered by: request\n", 1);
  assert_said("came back\n", 0);
  assert_said("recovered\n", 1);
#else
  print_message("skipped: the registers of this machine are not known\n");
  skip();
#endif
}

static void a_stack_may_be_what_is_dead(void **state) {
  (void)state;
  if (sysconf(_SC_PAGESIZE) > 4096) {
    print_message("skipped: dead large objects stay accessible where base pages are above 4 KiB\n");
    skip();
  }
#if defined(__GLIBC__) && !defined(CRADLE_ASAN) && CRD_REGISTERS_KNOWN
  assert_exit(end_of(runs_on_what_is_dead), 7);
  assert_said("cradle: stale reference to a string (large object at 0x", 1);
  assert_said("; the stack that the program runs on has died\n", 1);
  assert_said("cradle: minor collection 2, triggered by: request\n", 1);
  assert_said("came back\n", 0);
  assert_said("recovered\n", 1);
  assert_exit(end_of(runs_beside_what_is_dead), 7);
  assert_said("cradle: stale reference to a string (large object at 0x", 1);
  assert_said(", used by:\n", 1);
  assert_said("came back\n", 0);
#else
  print_message("skipped: it takes makecontext, known registers, and no AddressSanitizer\n");
  skip();
#endif
}

static void a_small_signal_stack_is_enough(void **state) {
  (void)state;
  size_t with_stack = 0;
  for (more = 0; more < 5120; more += 64) { /* there is a size from which the use's stack is told */
    assert_exit(end_of(recovers_on_a_small_stack), 7);
    assert_said(REPORT, 1);
    assert_said("recovered\n", 2);
    if (times("used by:") > 0) with_stack++;
  }
  assert_true(with_stack > 0);
}

static void reports_of_threads_are_whole(void **state) {
  (void)state;
  assert_died_by(end_of(threads_fault_together), SIGSEGV);
  assert_said(REPORT, 1);
  assert_said("cradle: minor collection 1 (1 before the last one), triggered by: request\n", 1);
  assert_exit(end_of(threads_fault_together_and_recover), 7);
  assert_said(REPORT, 2);
  assert_said("cradle: minor collection 1 (1 before the last one), triggered by: request\n", 1);
  assert_said("cradle: minor collection 2, triggered by: request\n", 1);
}

static void a_report_waits_for_no_other_mutator(void **state) {
  (void)state;
  assert_died_by(end_of(die_beside_one_that_spins), SIGSEGV);
  assert_said(REPORT, 1);
  assert_said("cradle: so far 1 minor and 0 major collections\n", 1);
  assert_died_by(end_of(die_while_another_collects), SIGSEGV);
  assert_said(REPORT, 1);
  assert_said("cradle: so far 1 minor and 0 major collections; minor collection 2 is running\n", 1);
  assert_said("collection 1 (1 before the last one), triggered by: request, collected by: mutator 1\n", 1);
  assert_said("minor collection 2, triggered by: before a major collection, collected by: mutator 2\n", 1);
  assert_died_by(end_of(die_while_another_marks), SIGSEGV);
  assert_said("cradle: so far 2 minor and 0 major collections; a major collection is under way: marking\n", 1);
}

static void signals_that_were_sent(void **state) {
  (void)state;
  assert_exit(end_of(host_ignores_sent), 7);
  assert_string_equal(said, "alive\n");
  assert_died_by(end_of(sent), SIGSEGV);
  assert_string_equal(said, "");
}

static void the_handler_comes_and_goes(void **state) {
  (void)state;
  assert_exit(end_of(taken_away_with_the_last_heap), 7);
  assert_exit(end_of(nothing_unless_asked_for), 7);
  assert_died_by(end_of(program_goes_back_to_the_default), SIGSEGV);
  assert_said(REPORT, 1);
  assert_died_by(end_of(program_goes_back_to_ignoring), SIGSEGV);
  assert_said(REPORT, 1);
  assert_exit(end_of(program_goes_back_to_its_first_handler), 7);
  assert_said(REPORT, 1);
  assert_exit(end_of(and_to_one_that_calls_ours), 7);
  assert_said(REPORT, 1);
  assert_said("the host's handler\n", 2);
}

static void poison_is_decoded(void **state) {
  (void)state;
#if CRD_REGISTERS_KNOWN
  assert_died_by(end_of(die_of_poison), SIGSEGV);
  assert_said("was used as a reference: it was read from an old object that", 1);
  assert_said("cradle: the last collection: minor collection", 1);
  assert_said("cradle: the last stress collection has number 1001 (", 1);
#else
  print_message("skipped: the registers of this machine are not known\n");
  skip();
#endif
}

static void a_verification_tells_when_the_heap_was_right(void **state) {
  (void)state;
  assert_died_by(end_of(die_of_the_first_verification), SIGABRT);
  assert_said("cradle: misuse: no reference: 0x15 in shadow stack, word 0 at 0x", 1);
  assert_said("; last collection: none yet; wrong before collection 1, when it was verified first", 1);
  assert_said("the heap was right", 0);
  assert_died_by(end_of(die_of_a_later_verification), SIGABRT);
  assert_said("; last collection: 1 (request); right after collection 1, wrong before collection 2", 1);
  assert_said("cradle: the heap was right after collection 1, which was called from, the innermost first:\n", 1);
  assert_died_by(end_of(die_without_a_history), SIGABRT);
  assert_said("; last collection: 1 (request)\n", 1);
  assert_said("; right after", 0);
  assert_said("the heap was right", 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_stale_reference_is_reported),
      cmocka_unit_test(calls_are_named_with_their_lines),
      cmocka_unit_test(another_program_is_run),
      cmocka_unit_test(another_fault_is_passed_on),
      cmocka_unit_test(a_handler_from_before_is_called),
      cmocka_unit_test(a_handler_from_afterwards_comes_first),
      cmocka_unit_test(a_host_may_recover),
      cmocka_unit_test(many_heaps_are_known),
      cmocka_unit_test(a_jump_to_a_stale_reference_is_reported),
      cmocka_unit_test(a_stack_may_be_what_is_dead),
      cmocka_unit_test(a_small_signal_stack_is_enough),
      cmocka_unit_test(reports_of_threads_are_whole),
      cmocka_unit_test(a_report_waits_for_no_other_mutator),
      cmocka_unit_test(signals_that_were_sent),
      cmocka_unit_test(the_handler_comes_and_goes),
      cmocka_unit_test(poison_is_decoded),
      cmocka_unit_test(a_verification_tells_when_the_heap_was_right),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
