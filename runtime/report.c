/* Reports on standard error, each only once in a process. */
#include "runtime/report.h"

#include "gc/base/text.h"
#include "gc/platform/thread.h"
#include "runtime/platform/files.h"
#include "runtime/platform/process.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPORT_MAX_BYTES 600
#define LOCK_ATTEMPTS 1000

bool crd_lock_try(crd_lock *lock, bool over) {
  int self = crd_process_number();
  for (int i = 0; i < LOCK_ATTEMPTS; i++) {
    int holder = __atomic_load_n(&lock->holder, __ATOMIC_RELAXED);
    if (holder != 0 && holder != self && !over) return false;
    if (holder != self &&
        __atomic_compare_exchange_n(&lock->holder, &holder, self, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
      return true;
    crd_thread_yield();
  }
  return false;
}

/* Sleeps between attempts, because the holder may be waiting for a disk. */
void crd_lock_take(crd_lock *lock) {
  while (!crd_lock_try(lock, true)) crd_thread_rest();
}

void crd_lock_release(crd_lock *lock) {
  __atomic_store_n(&lock->holder, 0, __ATOMIC_RELEASE);
}

/* The process's list of [report.1]. Texts are never freed: they are few, and none is to be written twice. */
typedef struct said {
  struct said *next;
  char text[];
} said;
static said *all_said;
static crd_lock said_lock;

/* If memory runs out, the text is not remembered, and may be written again. */
static void remember(const char *text) {
  size_t bytes = strlen(text) + 1;
  said *one = malloc(sizeof *one + bytes);
  if (one == NULL) return;
  memcpy(one->text, text, bytes);
  one->next = all_said;
  __atomic_store_n(&all_said, one, __ATOMIC_RELEASE);
}

bool crd_first_time(const char *text) {
  crd_lock_take(&said_lock);
  const said *one = all_said;
  while (one != NULL && strcmp(one->text, text) != 0) one = one->next;
  if (one == NULL) remember(text);
  crd_lock_release(&said_lock);
  return one == NULL;
}

int crd_report(const char *format, ...) {
  char line[REPORT_MAX_BYTES + 2] = "cradle: ";
  size_t prefix = strlen(line);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line + prefix, REPORT_MAX_BYTES - prefix, format, arguments);
  va_end(arguments);
  (void)crd_show_text(line, sizeof line, line, strlen(line));
  if (!crd_first_time(line)) return 0;
  strcat(line, "\n");
  crd_write_all(CRD_STANDARD_ERROR, line, strlen(line));
  return 1;
}
