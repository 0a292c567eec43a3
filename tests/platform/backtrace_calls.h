/* Backtraces as test_backtrace.c has them compiled: the test takes what is written and, with glibc, says which files
 * are loaded and which calls are under way. */
#ifndef TESTS_BACKTRACE_CALLS_H
#define TESTS_BACKTRACE_CALLS_H

#include <unistd.h>

ssize_t stub_write(int file, const void *words, size_t length);

#ifdef __GLIBC__
#include <execinfo.h>
#include <link.h>
#include <sys/auxv.h>

int stub_iterate(int (*visit)(struct dl_phdr_info *info, size_t size, void *data), void *data);
unsigned long stub_entry(unsigned long name);
ssize_t stub_readlink(const char *path, char *buffer, size_t size);
int stub_backtrace(void **returns, int most);
#endif

#ifdef REPLACED_CALLS
#define write(file, words, length) stub_write(file, words, length)
#ifdef __GLIBC__
#define dl_iterate_phdr(visit, data) stub_iterate(visit, data)
#define getauxval(name) stub_entry(name)
#define readlink(path, buffer, size) stub_readlink(path, buffer, size)
#define backtrace(returns, most) stub_backtrace(returns, most)
#endif
#endif

#endif
