/* The log's file: a buffer, a descriptor, and what to do when either fails.
 *
 * [log_file.1] length <= sizeof buffer; the bytes below length are not written yet.
 * [log_file.2] Only the process that opened the file writes the buffer. A child of fork drops the buffer that it
 *              inherited, because the parent writes it.
 * [log_file.3] The program never fails because of its log. The first error is reported on standard error; then the file
 *              is stopped, and drops whatever is put into it.
 * [log_file.4] The buffer is written when the log's writer says that an outermost section ended, or when it is full. So
 *              standard error, and files that several heaps share (they are opened for appending), hold whole sections,
 *              unless a section is larger than the buffer. A pipe takes at most PIPE_BUF bytes as a whole, so a line
 *              log is written to a pipe section by section.
 */
#ifndef CRADLE_RUNTIME_LOG_FILE_H
#define CRADLE_RUNTIME_LOG_FILE_H

#include <cradle/base.h>

#include <string.h>

#define CRD_LOG_BUFFER_BYTES ((size_t)64 << 10)
/* The buffer is written at the end of a section if less room than this is left; usual sections are shorter. */
#define CRD_LOG_SECTION_BYTES ((size_t)16 << 10)

typedef struct crd_log_file {
  const char *variable, *noun; /* for messages: "CRADLE_LOG", "log" */
  char *name;                  /* as the user wrote it, with %d; owned */
  char *path;                  /* name with the pid in place; owned */
  int fd;                      /* -1: no file is open */
  int owner;                   /* the process that writes */
  char *ours;                  /* a byte that fork clears in the child, else not 0; NULL: the kernel cannot do that */
  bool interactive;            /* a terminal or standard error: written at the end of every outermost section */
  bool regular;                /* not a pipe, terminal or device */
  bool unbuffered; /* the process exits, or a line log is in a pipe: written at the end of every outermost section */
  bool stopped;    /* [log_file.3] */
  size_t length;
  char buffer[CRD_LOG_BUFFER_BYTES];
} crd_log_file;

/* Opens file, which is all zero, under the name, in which each %d is replaced by the process's number; "-" is standard
 * error. Empties it, unless this process has written to it before or another process is writing it now. false: it
 * failed, and an error was reported. */
bool crd_log_file_open(crd_log_file *file, const char *name, const char *variable, const char *noun);
/* Writes the rest of the buffer and closes the file. */
void crd_log_file_close(crd_log_file *file);

/* Whether this is a child of fork that has not called crd_log_file_renew. It is asked at every outermost section, so it
 * makes no system call if the kernel has MADV_WIPEONFORK. */
bool crd_log_file_is_inherited(const crd_log_file *file);
/* Makes an inherited file the child's own. Standard error and terminals are kept, and a file with %d in its name is
 * opened again under the child's number; the result is then true, as after an opening. Any other file is stopped. */
bool crd_log_file_renew(crd_log_file *file);

void crd_log_file_flush(crd_log_file *file);
/* A section has ended. outermost: no section that is written is open any more. */
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

/* --- numbers and texts ---
 *
 * Formatted by hand, for speed: there are thousands of minor collections a second, each with a dozen numbers. */

static inline void put(crd_log_file *file, const char *text) {
  crd_log_file_put(file, text, strlen(text));
}

/* parts / 10^decimals, right-aligned in width columns, at most 24. */
static inline void put_scaled(crd_log_file *file, uint64_t parts, int decimals, int width) {
  char text[24], *end = text + sizeof text, *first = end;
  for (int i = 0; i < decimals; i++, parts /= 10) *--first = (char)('0' + parts % 10);
  if (decimals != 0) *--first = '.';
  do *--first = (char)('0' + parts % 10);
  while ((parts /= 10) != 0);
  while (end - first < width) *--first = ' ';
  crd_log_file_put(file, first, (size_t)(end - first));
}

static inline void put_number(crd_log_file *file, uint64_t number) {
  put_scaled(file, number, 0, 0);
}

static inline void put_hex(crd_log_file *file, uint64_t number) {
  char digits[16], *first = digits + sizeof digits;
  do *--first = "0123456789abcdef"[number & 15];
  while ((number >>= 4) != 0);
  crd_log_file_put(file, first, (size_t)(digits + sizeof digits - first));
}

/* A number from 0 to 1. */
static inline void put_share(crd_log_file *file, double share) {
  put_scaled(file, (uint64_t)(share * 1e6 + 0.5), 6, 0);
}

#endif
