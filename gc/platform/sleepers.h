/* Which threads of the process sleep. On Linux /proc says so: a file a thread, which stays open from one look to the
 * next: opening them took two thirds of the time of a run in turns. */
#ifndef CRADLE_GC_PLATFORM_SLEEPERS_H
#define CRADLE_GC_PLATFORM_SLEEPERS_H

#include <stdbool.h>
#include <stdint.h>

/* So many files stay open; the threads beyond are opened at each look. */
#define SLEEPERS_KEPT 64

/* All zero: nothing is known so far. One thread at a time may use it. */
typedef struct crd_sleepers {
  bool known;     /* the files are those of all threads, as long as there are as many threads */
  int process;    /* whose threads they are: a child of a fork looks for its own */
  int folder;     /* of the threads, where something is known */
  uint64_t links; /* of that folder, which change with the number of threads; 0: nobody knows whether they do */
  uint32_t count;
  struct {
    uint64_t thread;
    int file;
  } kept[SLEEPERS_KEPT];
} crd_sleepers;

/* Whether all threads of the process but the calling one sleep. true, where the system does not say. */
bool crd_threads_sleep(crd_sleepers *sleepers);
/* Closes the files. */
void crd_sleepers_forget(crd_sleepers *sleepers);

#endif
