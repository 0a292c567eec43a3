/* Tests the protocol between the mutator and the second core with the real functions: the data of a round has one owner
 * at a time, and no stop and no round is lost. Also tests the threads below it: they are made and named, block signals,
 * may be refused, and are gone after a fork. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/inside.h"
#include "tests/old/rounds_calls.h"
#include "tests/support/forks.h"

bool refuse_threads;

#ifdef _WIN32
#include "gc/platform/windows.h"

static bool hears_no_signals(void) {
  return true; /* there are none */
}

static void read_own_name(char *name, size_t room) {
  typedef HRESULT(WINAPI * get_description)(HANDLE, PWSTR *);
  wchar_t *wide = NULL;
  FARPROC found = GetProcAddress(GetModuleHandleW(L"kernelbase.dll"), "GetThreadDescription");
  if (found == NULL || ((get_description)(void (*)(void))found)(GetCurrentThread(), &wide) < 0) return;
  for (size_t i = 0; i + 1 < room && wide[i] != 0; i++) name[i] = (char)wide[i];
  LocalFree(wide);
}
#else
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

/* What was freed must not be used. The compiler must not take the bytes for unused, either. */
static size_t structure_bytes; /* of a thread: all have the same size */
void *noted_malloc(size_t bytes) {
  structure_bytes = bytes;
  return malloc(bytes);
}
void overwriting_free(void *memory) {
  memset(memory, 0xA5, structure_bytes);
  __asm__ volatile("" : : "r"(memory) : "memory");
  free(memory);
}

static char *mark; /* the page of the last thread that a fork empties; NULL: it has none */
static bool refuse_marks;
void *noted_mmap(void *address, size_t size, int access, int flags, int file, off_t offset) {
  void *page = mmap(address, size, access, flags, file, offset);
  mark = page == MAP_FAILED ? NULL : page;
  return page;
}

static pid_t other_process; /* 0: this one */
pid_t answer_getpid(void) {
  return other_process != 0 ? other_process : getpid();
}

bool crd_fault_should_fail(const char *call, int *error);
bool crd_fault_should_fail(const char *call, int *error) {
  *error = EAGAIN;
  if (refuse_marks && strcmp(call, "mmap") == 0) return true;
  return refuse_threads && strcmp(call, "pthread_create") == 0;
}

/* The pages of addresses that the process has, as far as the system tells; 0 where a sanitizer or an emulator, under
 * which forks are not tried, adds its own. */
static long address_pages(void) {
#if defined(CRADLE_ASAN) || defined(CRADLE_TSAN) || !FORKS_ARE_TRIED
  return 0;
#endif
  char text[64] = {0};
  int file = open("/proc/self/statm", O_RDONLY);
  ssize_t got = file < 0 ? 0 : read(file, text, sizeof text - 1);
  if (file >= 0) close(file);
  return got > 0 ? strtol(text, NULL, 10) : 0;
}

/* Bytes that malloc has in use, as far as it tells. */
static size_t allocated_bytes(void) {
#ifdef __GLIBC__ /* since 2.33, which is older than Debian 12 */
  return mallinfo2().uordblks;
#else
  return 0;
#endif
}

static bool hears_no_signals(void) {
  sigset_t blocked;
  (void)pthread_sigmask(SIG_SETMASK, NULL, &blocked);
  return sigismember(&blocked, SIGUSR1) && sigismember(&blocked, SIGALRM);
}

static void read_own_name(char *name, size_t room) {
  (void)pthread_getname_np(pthread_self(), name, room);
}
#endif

#define ROUNDS 20000
/* A round that is not stopped ends by itself after so many steps. */
#define STEPS 64

typedef struct shared {
  uint32_t word;
  crd_thread *thread;
  uint64_t steps;  /* not atomic: only its owner changes it, which ThreadSanitizer checks */
  uint64_t rounds; /* likewise */
  uint64_t calls;  /* atomic */
  bool masked;
  char name[16];
} shared;

static void work(crd_thread *self, void *data) {
  shared *s = data;
  s->masked = hears_no_signals();
  read_own_name(s->name, sizeof s->name);
  for (uint32_t taken; (taken = rounds_take(&s->word)) != ROUND_END;) {
    if (taken == ROUND_CALLED) {
      (void)__atomic_add_fetch(&s->calls, 1, __ATOMIC_RELAXED);
    } else if (taken == ROUND_IDLE) {
      crd_thread_wait(self, &s->word, ROUND_IDLE);
    } else {
      s->rounds++;
      for (int i = 0; i < STEPS && !rounds_end_now(&s->word); i++) s->steps++;
      crd_thread_set(self, &s->word, ROUND_IDLE);
    }
  }
}

static void begin(shared *s) {
  *s = (shared){.word = ROUND_IDLE};
  s->thread = crd_thread_new("rounds", work, s);
  assert_non_null(s->thread);
}

static void stop(shared *s) {
  if (rounds_stop(&s->word)) return;
  while (!rounds_is_idle(&s->word)) crd_thread_wait(s->thread, &s->word, ROUND_ASKED);
}

static void end(shared *s) {
  stop(s);
  crd_thread_set(s->thread, &s->word, ROUND_END);
  crd_thread_join(s->thread);
}

/* [marker.1] */
static void test_one_owner(void **state) {
  (void)state;
  shared s;
  begin(&s);
  uint64_t own = 0;
  for (int i = 0; i < ROUNDS; i++) {
    if (i % 7 == 0) rounds_call(&s.word, s.thread); /* the round may already have started */
    crd_thread_set(s.thread, &s.word, ROUND_OFFERED);
    /* one round in four is stopped while it runs, the others at any moment */
    while (i % 4 == 0 && __atomic_load_n(&s.word, __ATOMIC_RELAXED) == ROUND_OFFERED) continue;
    for (volatile int wait = i % 300; wait > 0; wait--) continue;
    stop(&s);
    assert_true(rounds_is_idle(&s.word));
    s.steps++; /* with two owners, an addition would sometimes be lost */
    own++;
  }
  uint64_t steps = s.steps;
  end(&s);
  assert_true(s.rounds >= ROUNDS / 4 && s.rounds <= ROUNDS);
  assert_true(steps >= own && steps <= own + STEPS * s.rounds);
}

/* A round that nobody stops runs to its end. */
static void test_no_round_is_lost(void **state) {
  (void)state;
  shared s;
  begin(&s);
  for (uint64_t i = 1; i <= 1000; i++) {
    crd_thread_set(s.thread, &s.word, ROUND_OFFERED);
    while (!rounds_is_idle(&s.word)) continue;
    assert_int_equal(s.rounds, i);
    assert_int_equal(s.steps, i * STEPS);
  }
  end(&s);
}

static void test_no_call_is_lost(void **state) {
  (void)state;
  shared s;
  begin(&s);
  for (uint64_t i = 1; i <= 1000; i++) {
    rounds_call(&s.word, s.thread);
    assert_true(rounds_is_idle(&s.word)); /* a call does not take ownership from the mutator */
    while (__atomic_load_n(&s.calls, __ATOMIC_RELAXED) != i) continue;
  }
  assert_int_equal(s.rounds, 0);
  end(&s);
}

static void test_ends_idle(void **state) {
  (void)state;
  for (int i = 0; i < 50; i++) {
    shared s;
    begin(&s);
    end(&s);
    assert_int_equal(s.rounds, 0);
  }
}

/* [thread.2] */
static void test_thread_is_deaf_and_named(void **state) {
  (void)state;
  shared s;
  begin(&s);
  end(&s);
  assert_true(s.masked);
  assert_string_equal(s.name, "rounds");
}

/* [thread.1] */
static void test_refused(void **state) {
  (void)state;
  bool heard_none = hears_no_signals();
  refuse_threads = true;
  assert_null(crd_thread_new("rounds", work, NULL));
  refuse_threads = false;
  assert_int_equal(hears_no_signals(), heard_none);
}

/* [thread.3] */
static void test_child_has_none(void **state) {
  (void)state;
  shared s;
  begin(&s);
  crd_thread_set(s.thread, &s.word, ROUND_OFFERED);
  pid_t child = fork();
  if (child == 0) {
    bool here = crd_thread_is_here(s.thread);
    crd_thread_forget(s.thread);
    _exit(here ? 1 : 0);
  }
  assert_true(crd_thread_is_here(s.thread));
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  end(&s);
}

#ifndef _WIN32
/* Whether a fork empties pages here. */
static bool can_empty(void) {
#ifdef MADV_WIPEONFORK
  void *page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_ptr_not_equal(page, MAP_FAILED);
  bool can = madvise(page, 1, -1) != 0 && madvise(page, 1, MADV_WIPEONFORK) == 0; /* qemu takes any advice */
  munmap(page, (size_t)sysconf(_SC_PAGESIZE));
  return can;
#else
  return false;
#endif
}

static bool is_here_elsewhere(const crd_thread *thread) {
  other_process = getpid() + 1;
  bool here = crd_thread_is_here(thread);
  other_process = 0;
  return here;
}

/* The process number and the page that a fork empties each tell a child alone. */
static void test_a_child_is_known_by_either_sign(void **state) {
  (void)state;
  shared s;
  begin(&s);
  assert_true(crd_thread_is_here(s.thread));
  assert_false(is_here_elsewhere(s.thread));
  if (can_empty()) {
    *mark = 0;
    assert_false(crd_thread_is_here(s.thread));
    *mark = 1;
    assert_true(crd_thread_is_here(s.thread));
  }
  end(&s);
  refuse_marks = true;
  begin(&s);
  refuse_marks = false;
  assert_true(crd_thread_is_here(s.thread));
  assert_false(is_here_elsewhere(s.thread));
  end(&s);
}

static bool forget_whole(crd_thread *thread) {
  long pages = address_pages();
  bool has_page = can_empty() && pages != 0;
  volatile uintptr_t block = (uintptr_t)thread; /* volatile: the compiler would warn of its use after free */
  size_t size = structure_bytes;
  crd_thread_forget(thread);
  if (has_page && address_pages() != pages - 1) return false;
  if (crd_thread_count() != 0) return false;
#if defined(__GLIBC__) && !defined(CRADLE_ASAN) && !defined(CRADLE_TSAN)
  return (uintptr_t)malloc(size) == block; /* what was freed last is given next */
#else
  return (void)block, (void)size, true;
#endif
}

/* Makes a thread, is refused another, and forgets one in a child. */
static void use_threads(void) {
  shared s;
  assert_int_equal(crd_thread_count(), 0);
  begin(&s);
  assert_int_equal(crd_thread_count(), 1);
  refuse_threads = true;
  assert_null(crd_thread_new("rounds", work, NULL));
  refuse_threads = false;
  assert_int_equal(crd_thread_count(), 1);
  if (FORKS_ARE_TRIED) {
    pid_t child = fork();
    if (child == 0) _exit(forget_whole(s.thread) ? 0 : 1);
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
  }
  end(&s);
}

static void test_ended_threads_leave_no_memory(void **state) {
  (void)state;
  for (int i = 0; i < 10; i++) use_threads();
  long pages = address_pages();
  size_t bytes = allocated_bytes();
  for (int i = 0; i < 10; i++) use_threads();
  assert_int_equal(crd_thread_count(), 0);
  assert_int_equal(address_pages(), pages);
  assert_int_equal(allocated_bytes(), bytes);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_owner),
      cmocka_unit_test(test_no_round_is_lost),
      cmocka_unit_test(test_no_call_is_lost),
      cmocka_unit_test(test_ends_idle),
      cmocka_unit_test(test_thread_is_deaf_and_named),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_child_has_none),
#ifndef _WIN32
      cmocka_unit_test(test_a_child_is_known_by_either_sign),
      cmocka_unit_test(test_ended_threads_leave_no_memory),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
