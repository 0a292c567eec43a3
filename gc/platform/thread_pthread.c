/* Threads of POSIX systems. glibc has them in the C library from 2.34 on; before, in libpthread. */
#include "gc/platform/thread.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#include "gc/platform/calls.h"

/* The C library puts the program's thread-local variables there, and sanitizers their own. */
#define STACK_BYTES ((size_t)256 << 10)

/* How many threads all heaps of the process have. With gc/instruments/other_heaps.c, all that heaps share. */
static uint32_t threads;

struct crd_thread {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed; /* some word that one side may wait for */
  pid_t process;
  char *mark; /* crd_fork_mark_new */
  const char *name;
  void (*run)(crd_thread *self, void *data);
  void *data;
};

#ifdef MADV_WIPEONFORK
/* qemu's user emulation says yes to any advice, and heeds few. The kernel refuses one that does not exist. */
static bool advice_is_heeded(char *page) {
  enum { NO_ADVICE = -1 };
  return CALL(madvise, -1, page, 1, NO_ADVICE) != 0;
}
#endif

char *crd_fork_mark_new(void) {
#ifdef MADV_WIPEONFORK
  KEEP_ERRNO;
  char *page = CALL(mmap, MAP_FAILED, NULL, 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return NULL;
  *page = 1;
  if (advice_is_heeded(page) && CALL(madvise, -1, page, 1, MADV_WIPEONFORK) == 0) return page;
  (void)munmap(page, 1);
#endif
  return NULL;
}

void crd_fork_mark_free(char *mark) {
  if (mark != NULL) (void)munmap(mark, 1);
}

static void set_name(const char *name) {
#if defined(__linux__)
  (void)pthread_setname_np(pthread_self(), name);
#elif defined(__APPLE__)
  (void)pthread_setname_np(name);
#else
  (void)name;
#endif
}

static void *start(void *data) {
  crd_thread *thread = data;
  set_name(thread->name);
  thread->run(thread, thread->data);
  return NULL;
}

/* All signals are blocked while the thread is made, because it inherits the mask of its maker [thread.2]. */
static bool create(crd_thread *thread) {
  pthread_attr_t attributes;
  sigset_t all, before;
  if (pthread_attr_init(&attributes) != 0) return false;
  (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = CALL(pthread_create, EAGAIN, &thread->thread, &attributes, start, thread);
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  (void)pthread_attr_destroy(&attributes);
  return error == 0;
}

static void destroy(crd_thread *thread) {
  (void)pthread_cond_destroy(&thread->changed);
  (void)pthread_mutex_destroy(&thread->lock);
  crd_fork_mark_free(thread->mark);
  free(thread);
}

crd_thread *crd_thread_new(const char *name, void (*run)(crd_thread *self, void *data), void *data) {
  KEEP_ERRNO;
  crd_thread *thread = malloc(sizeof *thread);
  if (thread == NULL) return NULL;
  *thread = (crd_thread){.process = getpid(), .mark = crd_fork_mark_new(), .name = name, .run = run, .data = data};
  (void)pthread_mutex_init(&thread->lock, NULL);
  (void)pthread_cond_init(&thread->changed, NULL);
  if (!create(thread)) {
    destroy(thread);
    return NULL;
  }
  (void)__atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
  return thread;
}

void crd_thread_join(crd_thread *thread) {
  (void)pthread_join(thread->thread, NULL);
  (void)__atomic_sub_fetch(&threads, 1, __ATOMIC_RELAXED);
  destroy(thread);
}

void crd_thread_yield(void) {
  (void)sched_yield();
}

#ifdef __linux__
uint64_t crd_thread_id(void) {
  return (uint64_t)syscall(SYS_gettid);
}

/* The file begins with "running" or with the number of a system call (proc(5)). */
bool crd_thread_activity(uint64_t id, char activity[THREAD_ACTIVITY_BYTES]) {
  KEEP_ERRNO;
  char path[64];
  (void)snprintf(path, sizeof path, "/proc/self/task/%llu/syscall", (unsigned long long)id);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t length = file < 0 ? 0 : read(file, activity, THREAD_ACTIVITY_BYTES - 1);
  if (file >= 0) (void)close(file);
  if (length <= 0) return false;
  activity[length] = 0;
  activity[strcspn(activity, " \n")] = 0;
  return true;
}
#else
uint64_t crd_thread_id(void) {
  return (uint64_t)(uintptr_t)pthread_self();
}
bool crd_thread_activity(uint64_t id, char activity[THREAD_ACTIVITY_BYTES]) {
  (void)id;
  (void)activity;
  return false;
}
#endif

uint32_t crd_thread_count(void) {
  return __atomic_load_n(&threads, __ATOMIC_RELAXED);
}

bool crd_thread_is_here(const crd_thread *thread) {
  return thread->process == getpid() && (thread->mark == NULL || *thread->mark != 0);
}

/* The lock and the condition are not destroyed: a thread that is not here may hold the lock or wait. */
void crd_thread_forget(crd_thread *thread) {
  (void)__atomic_sub_fetch(&threads, 1, __ATOMIC_RELAXED);
  crd_fork_mark_free(thread->mark);
  free(thread);
}

/* The lock is held although the store is atomic: without it, the other side could look at the word just before the
 * store and fall asleep just after the broadcast, for ever. */
void crd_thread_set(crd_thread *thread, uint32_t *word, uint32_t value) {
  (void)pthread_mutex_lock(&thread->lock);
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
  (void)pthread_cond_broadcast(&thread->changed);
  (void)pthread_mutex_unlock(&thread->lock);
}

void crd_thread_wait(crd_thread *thread, const uint32_t *word, uint32_t value) {
  (void)pthread_mutex_lock(&thread->lock);
  while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value) (void)pthread_cond_wait(&thread->changed, &thread->lock);
  (void)pthread_mutex_unlock(&thread->lock);
}

/* --- threads of the program --- */

/* The key under which a thread has what it leaves behind. If the system has no more keys, the ends of threads go
 * unnoticed. */
static pthread_key_t left_key;
static pthread_once_t left_once = PTHREAD_ONCE_INIT;
static bool has_left_key;
typedef void left_function(void *left); /* tools/amalgamate reads no pointer to a function */
static left_function *left_ended;       /* every thread stores the same; atomic */

/* The destructors of a thread's keys come in no order, but in rounds, as long as there are values. So the first round
 * leaves the value for the second: the program's destructors may still use what the thread leaves behind. */
static void end_thread(void *left) {
  static _Thread_local bool is_second;
  if (!is_second && pthread_setspecific(left_key, left) == 0)
    is_second = true;
  else
    __atomic_load_n(&left_ended, __ATOMIC_RELAXED)(left);
}

static void make_left_key(void) {
  has_left_key = pthread_key_create(&left_key, end_thread) == 0;
}

/* The library may be unloaded while the program goes on. */
__attribute__((__destructor__)) static void delete_left_key(void) {
  if (has_left_key) (void)pthread_key_delete(left_key);
  has_left_key = false;
}

void *crd_thread_left(void) {
  return has_left_key ? pthread_getspecific(left_key) : NULL;
}

void crd_thread_leave(void *left, void (*ended)(void *left)) {
  __atomic_store_n(&left_ended, ended, __ATOMIC_RELAXED);
  (void)pthread_once(&left_once, make_left_key);
  if (has_left_key) (void)pthread_setspecific(left_key, left);
}
