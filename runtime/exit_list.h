/* The exit list: what to do at the process's normal end for heaps that are still alive, such as writing their logs.
 *
 * [exit_list.1] The process has one list, with one lock. An entry's owner removes the entry before freeing it.
 * [exit_list.2] Entries run at exit, once, the latest first, on the thread that calls exit; an entry stays in the list.
 */
#ifndef CRADLE_RUNTIME_EXIT_LIST_H
#define CRADLE_RUNTIME_EXIT_LIST_H

typedef struct crd_exit_entry {
  struct crd_exit_entry *next, **link; /* link: what leads to it */
  void (*run)(struct crd_exit_entry *entry);
} crd_exit_entry;

void crd_exit_list_add(crd_exit_entry *entry);
/* Takes constant time: a process may have very many heaps. */
void crd_exit_list_remove(crd_exit_entry *entry);

#endif
