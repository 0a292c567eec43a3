/* Files: the descriptors that the runtime writes to, and how it opens and shares files. One source file for each
 * system.
 *
 * [files.1] No opening waits. A named pipe that nobody reads is an error.
 * [files.2] No write ends the program: if the reader has gone, or the file reaches a size limit, the write fails with
 *           an error and no signal.
 * [files.3] Names are UTF-8.
 */
#ifndef CRADLE_RUNTIME_PLATFORM_FILES_H
#define CRADLE_RUNTIME_PLATFORM_FILES_H

#include <cradle/base.h>

#define CRD_STANDARD_ERROR 2

/* Between begin and end, writes of this thread raise no signal. Both keep errno. */
typedef struct crd_quiet {
  uint64_t before[16], pending[16]; /* the thread's mask and its pending signals at the beginning */
} crd_quiet;
void crd_quiet_begin(crd_quiet *quiet);
void crd_quiet_end(const crd_quiet *quiet);

/* One write without a signal, repeated if it is interrupted. Returns how many bytes were written; negative: errno says
 * why. */
ptrdiff_t crd_write_quietly(int fd, const void *bytes, size_t length);
/* Writes all bytes, and waits while there is no room. false: errno says why. */
bool crd_write_all(int fd, const void *bytes, size_t length);

/* Whether the text begins as "C:\\": on Windows, this colon belongs to a file's name. */
bool crd_begins_with_drive(const char *text);

/* Opens the file for writing, without waiting. The flags (O_CREAT, O_APPEND) are added. The descriptor is never 0, 1 or
 * 2, even if the program has closed these. Negative: errno says why. */
int crd_open_to_write(const char *path, int flags);
/* The words for a message about errno after crd_open_to_write failed. */
const char *crd_open_failure(int error);
/* Closes it. false: an earlier write failed after all; errno says why. */
bool crd_file_close(int fd);
/* Empties it. Also true for a device or a pipe, which hold nothing to empty. false: errno says why. */
bool crd_file_empty(int fd);

bool crd_file_is_terminal(int fd);
bool crd_file_is_regular(int fd);

/* A lock between processes that write the same file. crd_file_lock_alone takes an exclusive lock, for which other
 * processes wait until it is shared. false: another process has a lock, so it took a shared lock instead. On file
 * systems without locks it returns true. */
bool crd_file_lock_alone(int fd);
void crd_file_lock_shared(int fd);
void crd_file_unlock(int fd);

#endif
