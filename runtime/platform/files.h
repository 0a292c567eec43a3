/* Files: descriptors that the runtime writes to, and how it makes, shares and replaces files. One file a system.
 *
 * [files.1] No opening waits. A pipe with a name that nobody reads is an error.
 * [files.2] A regular file is replaced by a new one with its permissions, which is complete: a reader sees the old
 *           contents or the new ones. Its symbolic links stay.
 * [files.3] What exists and is no regular file (a device, a pipe) is written in place, and stays what it is. So is
 *           the file that the program's own output goes to, at its end: /dev/stdout may lead to one.
 * [files.4] A new file that was not completed is removed.
 * [files.5] No write ends the program: a reader that goes away, and a limit on the size of files, are errors of it.
 * [files.6] Names are UTF-8.
 */
#ifndef CRADLE_RUNTIME_PLATFORM_FILES_H
#define CRADLE_RUNTIME_PLATFORM_FILES_H

#include <cradle/base.h>

#define CRD_STANDARD_ERROR 2

/* Between begin and end a write of this thread raises no signal. Keeps errno. */
typedef struct crd_quiet {
  uint64_t before[16], pending[16]; /* the thread's mask and its pending signals at the beginning */
} crd_quiet;
void crd_quiet_begin(crd_quiet *quiet);
void crd_quiet_end(const crd_quiet *quiet);

/* One write, quietly, that does not stop at an interruption. The bytes that were written; negative: errno says why. */
ptrdiff_t crd_write_quietly(int fd, const void *bytes, size_t length);
/* All of it. Where there is no room, it waits. false: errno says why. */
bool crd_write_all(int fd, const void *bytes, size_t length);

/* Opens the file for writing, without waiting. The flags (O_CREAT, O_EXCL, O_TRUNC, O_APPEND) are added. The descriptor
 * is none of standard input, output and error. Negative: errno says why. */
int crd_open_to_write(const char *path, int flags);
/* What errno says after crd_open_to_write failed, for a message. */
const char *crd_open_failure(int error);
/* false: the last write failed after all; errno says why. */
bool crd_file_close(int fd);
/* Empties it. True, too, where there is nothing to empty: a device, a pipe. false: errno says why. */
bool crd_file_empty(int fd);

bool crd_file_is_terminal(int fd);
bool crd_file_is_regular(int fd);
/* Whether it holds nothing; false, too, where that cannot be asked. */
bool crd_file_holds_nothing(int fd);

/* A lock between processes that write the same file. alone: nobody else has it open with a lock, and others wait until
 * it is shared; false: it was shared, as somebody else has it. File systems without locks count as alone. */
bool crd_file_lock_alone(int fd);
void crd_file_lock_shared(int fd);
void crd_file_unlock(int fd);

typedef struct crd_replacement {
  char *target;  /* the file that is replaced, its links followed; NULL: written in place */
  char *partial; /* the new file until it is complete */
  int fd;
} crd_replacement;

/* false: errno says why, and there is nothing to end. */
bool crd_replacement_begin(crd_replacement *file, const char *path);
/* Closes it. complete: all was written, and the new file takes its place. false: errno says why, and what was there
 * before is there. */
bool crd_replacement_end(crd_replacement *file, bool complete);

#endif
