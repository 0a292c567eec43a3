/* The log's file: a buffer, a descriptor, and what to do when either fails.
 *
 * [log_file.1] length <= sizeof buffer; what lies below length is not written yet.
 * [log_file.2] Only the process that opened the file writes the buffer. A child of fork drops what
 *              it inherited: the parent has it, and writes it.
 * [log_file.3] The program never fails because of its log. The first error is told on standard
 *              error; then the file is stopped, and takes and drops whatever is put into it.
 * [log_file.4] The buffer is written where the log's writer says that an outermost section ended, or
 *              when it is full; so files that several heaps share (they are opened for appending), and
 *              standard error, hold whole sections unless one exceeds the buffer. Pipes take no more than
 *              PIPE_BUF bytes as a whole, so a line log is written to them line by line.
 * [log_file.5] One head is written after the other: a lock of the process is held from the opening to
 *              crd_log_file_head_written, and where nobody else writes the file, an exclusive lock of
 *              it keeps other processes waiting.
 */
#ifndef CRADLE_RUNTIME_LOG_FILE_H
#define CRADLE_RUNTIME_LOG_FILE_H

#include <cradle/base.h>

#include <string.h>

#define CRD_LOG_BUFFER_BYTES ((size_t)64 << 10)
/* At the end of a section the buffer is written when less room than this is left: no usual section
 * is longer. */
#define CRD_LOG_SECTION_BYTES ((size_t)4 << 10)

typedef struct crd_log_file {
  char *name;        /* as the user wrote it, with %d; owned */
  char *path;        /* name with the pid in place; owned */
  int fd;            /* -1: none */
  int owner;         /* the process that writes */
  char *ours;        /* a page that fork clears in the child, else not 0; NULL: the kernel has none */
  bool interactive;  /* a terminal or standard error: written at the end of every outermost section */
  bool regular;      /* no pipe, terminal or device */
  bool unbuffered;   /* the process exits, or a line log is in a pipe: written at the end of every outermost section */
  bool stopped;      /* [log_file.3] */
  bool begins_empty; /* nothing was in it when it was opened */
  bool alone;        /* [log_file.5]: the exclusive lock is held */
  size_t length;
  char buffer[CRD_LOG_BUFFER_BYTES];
} crd_log_file;

/* name with each %d replaced by the process's number; the caller frees it. NULL: no memory. */
char *crd_path_with_pid(const char *name);

/* Opens the file called name, in which each %d is the process's number; "-" is standard error. The
 * file is emptied, unless this process has written to it before or another one is writing now. Others
 * wait until crd_log_file_head_written. false: an error was reported. */
bool crd_log_file_open(crd_log_file *file, const char *name);
/* What must be first in the file was flushed. Every opening that succeeded is followed by it. */
void crd_log_file_head_written(crd_log_file *file);
/* Writes the rest and closes. */
void crd_log_file_close(crd_log_file *file);

/* True in a child of fork until crd_log_file_renew. Asked at every outermost section: no system
 * call where the kernel has MADV_WIPEONFORK. */
bool crd_log_file_is_inherited(const crd_log_file *file);
/* Makes an inherited file the child's: standard error and terminals are kept, with %d it is opened anew
 * under the child's number; true is returned then, and it is as after an opening. Any other file
 * stops. */
bool crd_log_file_renew(crd_log_file *file);

void crd_log_file_flush(crd_log_file *file);
/* A section has ended; outermost: of those that are written, none is open now. */
void crd_log_file_section_end(crd_log_file *file, bool outermost);
CRADLE_COLD void crd_log_file_put_slow(crd_log_file *file, const char *text, size_t length);

CRADLE_INLINE void crd_log_file_put(crd_log_file *file, const char *text, size_t length) {
  if (CRADLE_UNLIKELY(length > sizeof file->buffer - file->length)) {
    crd_log_file_put_slow(file, text, length);
    return;
  }
  memcpy(file->buffer + file->length, text, length);
  file->length += length;
}

#endif
