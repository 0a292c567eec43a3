/* Threads of Windows, where there are neither signals nor forks. */
#include "gc/platform/thread.h"

#include <stdlib.h>

#include "gc/platform/windows.h"

#define STACK_BYTES ((size_t)256 << 10)

/* How many threads all heaps of the process have. With gc/instruments/other_heaps.c, all that heaps share. */
static uint32_t threads;

struct crd_thread {
  HANDLE thread;
  SRWLOCK lock;
  CONDITION_VARIABLE changed; /* some word that one side may wait for */
  const char *name;
  void (*run)(crd_thread *self, void *data);
  void *data;
};

/* The function is looked up, because Windows before version 10 does not have it. The name is ASCII. */
static void set_name(const char *name) {
  typedef HRESULT(WINAPI * set_description)(HANDLE, PCWSTR);
  wchar_t wide[16] = {0};
  FARPROC found = GetProcAddress(GetModuleHandleW(L"kernel32.dll"), "SetThreadDescription");
  if (found == NULL) return;
  for (int i = 0; i < 15 && name[i] != 0; i++) wide[i] = (wchar_t)name[i];
  (void)((set_description)(void (*)(void))found)(GetCurrentThread(), wide);
}

static DWORD WINAPI start(void *data) {
  crd_thread *thread = data;
  set_name(thread->name);
  thread->run(thread, thread->data);
  return 0;
}

crd_thread *crd_thread_new(const char *name, void (*run)(crd_thread *self, void *data), void *data) {
  KEEP_LAST_ERROR;
  crd_thread *thread = malloc(sizeof *thread);
  if (thread == NULL) return NULL;
  *thread = (crd_thread){.name = name, .run = run, .data = data};
  InitializeSRWLock(&thread->lock);
  InitializeConditionVariable(&thread->changed);
  thread->thread = CreateThread(NULL, STACK_BYTES, start, thread, STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
  if (thread->thread == NULL) {
    free(thread);
    return NULL;
  }
  (void)__atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
  return thread;
}

char *crd_fork_mark_new(void) {
  return NULL;
}

void crd_fork_mark_free(char *mark) {
  (void)mark;
}

void crd_thread_join(crd_thread *thread) {
  (void)WaitForSingleObject(thread->thread, INFINITE);
  (void)CloseHandle(thread->thread);
  (void)__atomic_sub_fetch(&threads, 1, __ATOMIC_RELAXED);
  free(thread);
}

void crd_thread_yield(void) {
  (void)SwitchToThread();
}

uint64_t crd_thread_id(void) {
  return GetCurrentThreadId();
}

bool crd_thread_activity(uint64_t id, char activity[THREAD_ACTIVITY_BYTES]) {
  (void)id;
  (void)activity;
  return false;
}

uint32_t crd_thread_count(void) {
  return __atomic_load_n(&threads, __ATOMIC_RELAXED);
}

bool crd_thread_is_here(const crd_thread *thread) {
  (void)thread;
  return true;
}

void crd_thread_forget(crd_thread *thread) {
  (void)thread; /* there is no fork that one would not survive */
}

void crd_thread_set(crd_thread *thread, uint32_t *word, uint32_t value) {
  AcquireSRWLockExclusive(&thread->lock);
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
  WakeAllConditionVariable(&thread->changed);
  ReleaseSRWLockExclusive(&thread->lock);
}

void crd_thread_wait(crd_thread *thread, const uint32_t *word, uint32_t value) {
  AcquireSRWLockExclusive(&thread->lock);
  while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value)
    (void)SleepConditionVariableSRW(&thread->changed, &thread->lock, INFINITE, 0);
  ReleaseSRWLockExclusive(&thread->lock);
}

/* --- threads of the program --- */

/* Only fiber-local storage has a callback, and only thread-local storage is the same in all fibers of a thread. So what
 * a thread leaves is in the latter, and the former only calls. */
static INIT_ONCE left_once = INIT_ONCE_STATIC_INIT;
static DWORD left_slot = TLS_OUT_OF_INDEXES, call_slot = FLS_OUT_OF_INDEXES;
typedef void left_function(void *left); /* tools/amalgamate reads no pointer to a function */
static left_function *left_ended;

static void WINAPI end_thread(void *called) {
  void *left = TlsGetValue(left_slot);
  if (called == NULL || left == NULL) return;
  (void)TlsSetValue(left_slot, NULL);
  left_ended(left);
}

static BOOL CALLBACK make_left_slots(INIT_ONCE *once, void *parameter, void **context) {
  (void)once, (void)parameter, (void)context;
  left_slot = TlsAlloc();
  call_slot = FlsAlloc(end_thread);
  return TRUE;
}

void *crd_thread_left(void) {
  KEEP_LAST_ERROR;
  return left_slot == TLS_OUT_OF_INDEXES ? NULL : TlsGetValue(left_slot);
}

void crd_thread_leave(void *left, void (*ended)(void *left)) {
  KEEP_LAST_ERROR;
  left_ended = ended;
  (void)InitOnceExecuteOnce(&left_once, make_left_slots, NULL, NULL);
  if (left_slot == TLS_OUT_OF_INDEXES || call_slot == FLS_OUT_OF_INDEXES) return;
  (void)TlsSetValue(left_slot, left);
  (void)FlsSetValue(call_slot, left == NULL ? NULL : &left_slot);
}
