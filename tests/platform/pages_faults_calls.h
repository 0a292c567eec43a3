/* The Linux pages as test_pages_faults.c has them compiled: it makes calls fail and answers some. Ordinary memory takes
 * the place of the reserved pool, so that the pool's steps run on a machine that has none. */
#ifndef TESTS_PAGES_FAULTS_CALLS_H
#define TESTS_PAGES_FAULTS_CALLS_H

#include <fcntl.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

int answer_open(const char *path, int flags);
int answer_scan(int file, unsigned long request, void *arguments);
ssize_t answer_write(int file, const void *text, size_t length);
void *answer_mmap(void *address, size_t size, int access, int flags, int file, off_t offset);

#ifdef REPLACED_CALLS
#undef MAP_HUGETLB
#define MAP_HUGETLB 0
#define CRADLE_FAULT_INJECTION 1
#define open(path, flags) answer_open(path, flags)
#define ioctl(file, request, arguments) answer_scan(file, request, arguments)
#define write(file, text, length) answer_write(file, text, length)
#define mmap(address, size, access, flags, file, offset) answer_mmap(address, size, access, flags, file, offset)
#endif

#endif
