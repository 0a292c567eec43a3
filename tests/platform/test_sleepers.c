/* Which threads sleep: those that come, go, run and sleep between two looks, and more than files are kept of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/inside.h"

enum { MANY = SLEEPERS_KEPT + 6 };

typedef struct {
  pthread_t thread;
  pthread_mutex_t lock; /* where it sleeps */
  bool spins, ends, spun;
} body;

static void *live(void *data) {
  body *self = data;
  while (!__atomic_load_n(&self->ends, __ATOMIC_ACQUIRE)) {
    if (__atomic_load_n(&self->spins, __ATOMIC_ACQUIRE)) {
      __atomic_store_n(&self->spun, true, __ATOMIC_RELEASE);
    } else {
      (void)pthread_mutex_lock(&self->lock);
      (void)pthread_mutex_unlock(&self->lock);
    }
  }
  return NULL;
}

/* A new thread sleeps on its lock, which the caller has. */
static void begin(body *self) {
  *self = (body){.spins = false};
  assert_int_equal(pthread_mutex_init(&self->lock, NULL), 0);
  assert_int_equal(pthread_mutex_lock(&self->lock), 0);
  assert_int_equal(pthread_create(&self->thread, NULL, live, self), 0);
}
static void let_go(body *self) {
  assert_int_equal(pthread_mutex_unlock(&self->lock), 0);
}
static void end(body *self) {
  __atomic_store_n(&self->ends, true, __ATOMIC_RELEASE);
  if (!self->spins) let_go(self);
  assert_int_equal(pthread_join(self->thread, NULL), 0);
}
static void spin(body *self) {
  __atomic_store_n(&self->spins, true, __ATOMIC_RELEASE);
  let_go(self);
  while (!__atomic_load_n(&self->spun, __ATOMIC_ACQUIRE)) (void)sched_yield();
}

/* Soon all sleep. (The test is stopped if they never do.) */
static void wait_until_all_sleep(crd_sleepers *sleepers) {
  while (!crd_threads_sleep(sleepers)) (void)sched_yield();
}

static int open_files(void) {
  int count = 0;
  DIR *files = opendir("/proc/self/fd");
  assert_non_null(files);
  while (readdir(files) != NULL) count++;
  (void)closedir(files);
  return count;
}

static void who_runs_is_seen(void **state) {
  (void)state;
  crd_sleepers sleepers = {.known = false};
  int before = open_files();
  assert_true(crd_threads_sleep(&sleepers)); /* there is no other */
  body one, two;
  begin(&one);
  wait_until_all_sleep(&sleepers);
  begin(&two);
  spin(&two);
  for (int look = 0; look < 100; look++) assert_false(crd_threads_sleep(&sleepers));
  end(&two);
  wait_until_all_sleep(&sleepers);
  assert_true(crd_threads_sleep(&sleepers));
  end(&one);
  wait_until_all_sleep(&sleepers);
  crd_sleepers_forget(&sleepers);
  crd_sleepers_forget(&sleepers);
  assert_int_equal(open_files(), before);
}

/* One that ends and one that begins leave as many threads as before. */
static void a_thread_in_the_place_of_another_is_seen(void **state) {
  (void)state;
  crd_sleepers sleepers = {.known = false};
  for (int round = 0; round < 50; round++) {
    body first, second;
    begin(&first);
    wait_until_all_sleep(&sleepers);
    end(&first);
    begin(&second);
    spin(&second);
    assert_false(crd_threads_sleep(&sleepers));
    end(&second);
  }
  crd_sleepers_forget(&sleepers);
}

static void more_threads_than_files(void **state) {
  (void)state;
  static body bodies[MANY];
  crd_sleepers sleepers = {.known = false};
  int before = open_files();
  for (int i = 0; i < MANY; i++) begin(&bodies[i]);
  wait_until_all_sleep(&sleepers);
  assert_true(open_files() <= before + SLEEPERS_KEPT + 1);
  for (int i = MANY - 1; i >= 0; i--) {
    spin(&bodies[i]);
    assert_false(crd_threads_sleep(&sleepers));
    end(&bodies[i]);
  }
  wait_until_all_sleep(&sleepers);
  crd_sleepers_forget(&sleepers);
  assert_int_equal(open_files(), before);
}

/* The calling thread is another each time; it runs itself. */
static void *look(void *data) {
  wait_until_all_sleep(data);
  return NULL;
}
static void any_thread_may_look(void **state) {
  (void)state;
  crd_sleepers sleepers = {.known = false};
  wait_until_all_sleep(&sleepers);
  for (int i = 0; i < 20; i++) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, look, &sleepers), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    wait_until_all_sleep(&sleepers);
  }
  crd_sleepers_forget(&sleepers);
}

/* The child has none of its parent's threads, of which one runs. */
static void a_child_of_a_fork_begins_anew(void **state) {
  (void)state;
  crd_sleepers sleepers = {.known = false};
  body one;
  begin(&one);
  wait_until_all_sleep(&sleepers);
  spin(&one);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    _exit(crd_threads_sleep(&sleepers) ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  end(&one);
  crd_sleepers_forget(&sleepers);
}

static void without_room_for_files_all_seem_to_sleep_and_errno_stays(void **state) {
  (void)state;
  struct rlimit before, few;
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  few = (struct rlimit){.rlim_cur = 100, .rlim_max = before.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
  int taken[100], count = 0;
  while (count < 100 && (taken[count] = open("/", O_RDONLY | O_CLOEXEC)) >= 0) count++;
  crd_sleepers sleepers = {.known = false};
  errno = ENOTTY;
  bool all = crd_threads_sleep(&sleepers);
  int said = errno;
  crd_sleepers_forget(&sleepers);
  while (count > 0) (void)close(taken[--count]);
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
  assert_true(all);
  assert_int_equal(said, ENOTTY);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(who_runs_is_seen),
      cmocka_unit_test(a_thread_in_the_place_of_another_is_seen),
      cmocka_unit_test(more_threads_than_files),
      cmocka_unit_test(any_thread_may_look),
      cmocka_unit_test(a_child_of_a_fork_begins_anew),
      cmocka_unit_test(without_room_for_files_all_seem_to_sleep_and_errno_stays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
