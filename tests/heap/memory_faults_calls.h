/* The Linux pages as test_memory_faults.c has them compiled: it looks at the calls and makes them fail. Ordinary memory
 * takes the place of the reserved pool. */
#ifndef TESTS_MEMORY_FAULTS_CALLS_H
#define TESTS_MEMORY_FAULTS_CALLS_H

#include <stddef.h>
#include <sys/mman.h>
#include <time.h>

void *seam_mmap(void *address, size_t size, int protection, int flags, int file, off_t offset);
int seam_munmap(void *address, size_t size);
int seam_mprotect(void *address, size_t size, int protection);
int seam_madvise(void *address, size_t size, int advice);
int seam_clock_gettime(clockid_t clock, struct timespec *now);

#ifdef REPLACED_CALLS
#undef MAP_HUGETLB
#define MAP_HUGETLB 0
#define CRADLE_FAULT_INJECTION 1
#define mmap seam_mmap
#define munmap seam_munmap
#define mprotect seam_mprotect
#define madvise seam_madvise
#define clock_gettime seam_clock_gettime
#endif

#endif
