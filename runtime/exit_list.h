/* What is to be done at the process's normal end for heaps that are alive then.
 *
 * [exit_list.1] The list and its lock are the process's. An entry is its owner's, who removes it before freeing it.
 * [exit_list.2] Entries run at exit, once, the latest first, on the thread that calls exit; an entry stays in the list.
 */
#ifndef CRADLE_RUNTIME_EXIT_LIST_H
#define CRADLE_RUNTIME_EXIT_LIST_H

typedef struct crd_exit_entry {
  struct crd_exit_entry *next;
  void (*run)(struct crd_exit_entry *entry);
} crd_exit_entry;

void crd_exit_list_add(crd_exit_entry *entry);
void crd_exit_list_remove(const crd_exit_entry *entry);

#endif
