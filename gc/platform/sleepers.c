#include "gc/platform/sleepers.h"

#ifdef __linux__
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gc/platform/calls.h"
#include "gc/platform/thread.h"

void crd_sleepers_forget(crd_sleepers *sleepers) {
  if (!sleepers->known) return;
  while (sleepers->count > 0) (void)close(sleepers->kept[--sleepers->count].file);
  (void)close(sleepers->folder);
  sleepers->known = false;
}

/* Behind the thread's name, which ends with the last parenthesis, is a letter for its state (proc(5)). A thread that a
 * debugger holds counts as one that sleeps. ended: set for one that is no more. */
static bool sleeps(int file, bool *ended) {
  char words[128];
  ssize_t length = pread(file, words, sizeof words - 1, 0);
  words[length < 0 ? 0 : length] = 0;
  const char *name_end = strrchr(words, ')');
  if (name_end == NULL) *ended = true;
  return name_end == NULL || strchr("StTZX", name_end[2]) != NULL;
}

/* A thread whose file cannot be opened has ended, or the process has no room for a file; it counts as one that sleeps.
 */
static int open_stat(const char *thread) {
  char path[64];
  (void)snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", thread);
  return open(path, O_RDONLY | O_CLOEXEC);
}

/* Opens the files of all threads. Returns whether those sleep of which no file is kept. */
static bool list(crd_sleepers *sleepers) {
  crd_sleepers_forget(sleepers);
  DIR *tasks = opendir("/proc/self/task");
  if (tasks == NULL) return true;
  struct stat now;
  *sleepers = (crd_sleepers){.known = true, .process = getpid(), .folder = fcntl(dirfd(tasks), F_DUPFD_CLOEXEC, 0)};
  sleepers->links = fstat(sleepers->folder, &now) == 0 ? (uint64_t)now.st_nlink : 0;
  bool all = true, ended = false;
  const struct dirent *task;
  while ((task = readdir(tasks)) != NULL) {
    int file = *task->d_name == '.' ? -1 : open_stat(task->d_name);
    if (file < 0) continue;
    uint64_t thread = strtoull(task->d_name, NULL, 10);
    if (sleepers->count < SLEEPERS_KEPT) {
      sleepers->kept[sleepers->count].thread = thread;
      sleepers->kept[sleepers->count++].file = file;
    } else {
      sleepers->links = 0;
      all = (thread == crd_thread_id() || sleeps(file, &ended)) && all;
      (void)close(file);
    }
  }
  (void)closedir(tasks);
  /* Systems that only resemble Linux may have any number. */
  if (sleepers->links < sleepers->count) sleepers->links = 0;
  return all;
}

static bool is_as_before(const crd_sleepers *sleepers) {
  struct stat now;
  return sleepers->known && sleepers->links != 0 && sleepers->process == getpid() &&
         fstat(sleepers->folder, &now) == 0 && (uint64_t)now.st_nlink == sleepers->links;
}

bool crd_threads_sleep(crd_sleepers *sleepers) {
  KEEP_ERRNO;
  bool all = is_as_before(sleepers) || list(sleepers), ended = false;
  uint64_t own = crd_thread_id();
  for (uint32_t i = 0; all && sleepers->known && i < sleepers->count; i++)
    all = sleepers->kept[i].thread == own || sleeps(sleepers->kept[i].file, &ended);
  if (ended) crd_sleepers_forget(sleepers); /* another may have come in its place */
  return all && !ended;
}
#else
bool crd_threads_sleep(crd_sleepers *sleepers) {
  (void)sleepers;
  return true;
}
void crd_sleepers_forget(crd_sleepers *sleepers) {
  (void)sleepers;
}
#endif
