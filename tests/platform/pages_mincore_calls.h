/* The POSIX pages as test_pages_mincore.c has them compiled: with the constants of macOS and FreeBSD. */
#ifndef TESTS_PAGES_MINCORE_CALLS_H
#define TESTS_PAGES_MINCORE_CALLS_H

#include <stddef.h>
#include <sys/mman.h>

int answer_mincore(void *address, size_t size, unsigned char *states);

#define MINCORE_INCORE 1
#define MINCORE_SUPER 0x60
#ifdef REPLACED_CALLS
#define CRADLE_FAULT_INJECTION 1
#define mincore(address, size, states) answer_mincore(address, size, states)
#endif

#endif
