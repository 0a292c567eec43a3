/* Files that the runtime writes where its user says: opened without waiting for anybody, and replaced in one step.
 *
 * [out_file.1] No opening waits. A pipe with a name that nobody reads is an error.
 * [out_file.2] A regular file is replaced by a new one with its permissions, which is complete: a reader sees the old
 *              contents or the new ones. Its symbolic links stay.
 * [out_file.3] What exists and is no regular file (a device, a pipe) is written in place, and stays what it is. So is
 *              the file that the program's own output goes to, at its end: /dev/stdout may lead to one.
 * [out_file.4] A new file that was not completed is removed.
 */
#ifndef CRADLE_RUNTIME_OUT_FILE_H
#define CRADLE_RUNTIME_OUT_FILE_H

#include <cradle/base.h>

/* open for writing, without waiting; flags are added. The descriptor is none of standard input, output and error.
 * Negative: errno says why. */
int crd_open_to_write(const char *path, int flags);
/* What errno says after crd_open_to_write failed, for a message. */
const char *crd_open_failure(int error);

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
