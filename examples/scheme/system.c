#include "system.h"

#include <signal.h>

#ifdef _WIN32

void catch_interrupts(void (*function)(int)) {
  signal(SIGINT, function);
}

/* They come on a thread of their own. */
void leave_interrupts(void) {}

FILE *memory_file_open(char *text, size_t room) {
  (void)text, (void)room;
  return tmpfile();
}

void memory_file_close(FILE *file, char *text, size_t room) {
  rewind(file);
  text[fread(text, 1, room - 1, file)] = '\0';
  fclose(file);
}

#else

void catch_interrupts(void (*function)(int)) {
  sigaction(SIGINT, &(struct sigaction){.sa_handler = function}, NULL);
}

void leave_interrupts(void) {
  sigset_t interrupts;
  sigemptyset(&interrupts);
  sigaddset(&interrupts, SIGINT);
  pthread_sigmask(SIG_BLOCK, &interrupts, NULL);
}

FILE *memory_file_open(char *text, size_t room) {
  return fmemopen(text, room, "w");
}

void memory_file_close(FILE *file, char *text, size_t room) {
  fflush(file); /* fails where the text is longer */
  fclose(file);
  text[room - 1] = '\0';
}

#endif
