/* The list of what the end of the process runs. */
#include "runtime/exit_list.h"

#include "runtime/report.h"

#include <stdlib.h>

static crd_exit_entry *all;
static crd_lock lock;
static bool registered;

static void run_all(void) {
  if (!crd_lock_try(&lock)) return;
  registered = false; /* a heap that starts later, in a child of fork or in an exit handler, registers again */
  for (crd_exit_entry *entry = all; entry != NULL; entry = entry->next) entry->run(entry);
  crd_lock_release(&lock);
}

void crd_exit_list_add(crd_exit_entry *entry) {
  crd_lock_take(&lock);
  entry->next = all;
  entry->link = &all;
  if (all != NULL) all->link = &entry->next;
  __atomic_store_n(&all, entry, __ATOMIC_RELEASE);
  if (!registered) registered = atexit(run_all) == 0;
  crd_lock_release(&lock);
}

void crd_exit_list_remove(crd_exit_entry *entry) {
  crd_lock_take(&lock);
  *entry->link = entry->next;
  if (entry->next != NULL) entry->next->link = entry->link;
  crd_lock_release(&lock);
}
