/* The registers at a fault, read from the context that a signal handler gets. */
#ifndef CRADLE_RUNTIME_PLATFORM_REGISTERS_H
#define CRADLE_RUNTIME_PLATFORM_REGISTERS_H

#include <signal.h>

#include "runtime/platform/fault_signals.h"

/* Whether the registers of this machine and system are known. */
#if (defined(__linux__) || defined(__APPLE__) || defined(__FreeBSD__)) && (defined(__x86_64__) || defined(__aarch64__))
#define CRD_REGISTERS_KNOWN 1
#elif defined(__linux__) && defined(__riscv)
#define CRD_REGISTERS_KNOWN 1
#else
#define CRD_REGISTERS_KNOWN 0
#endif

void crd_registers_read(const ucontext_t *context, crd_registers *found);

#endif
