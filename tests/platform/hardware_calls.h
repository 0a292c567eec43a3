/* The machine's description as test_hardware.c has it compiled: the test answers some system calls. */
#ifndef TESTS_HARDWARE_CALLS_H
#define TESTS_HARDWARE_CALLS_H

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

int stub_getaffinity(pid_t process, size_t size, cpu_set_t *allowed);
int stub_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);
long stub_sysconf(int name);
int stub_open(const char *path, int flags);
ssize_t stub_read(int file, void *buffer, size_t size);

#ifdef REPLACED_CALLS
#define sched_getaffinity(process, size, allowed) stub_getaffinity(process, size, allowed)
#define prctl(option, a, b, c, d) stub_prctl(option, a, b, c, d)
#define sysconf(name) stub_sysconf(name)
#define open(path, flags) stub_open(path, flags)
#define read(file, buffer, size) stub_read(file, buffer, size)
#endif

#endif
