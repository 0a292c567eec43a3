/* The registers at a fault, from what the system hands to a signal handler. */
#ifndef CRADLE_RUNTIME_PLATFORM_REGISTERS_H
#define CRADLE_RUNTIME_PLATFORM_REGISTERS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether those of this machine and system are known. */
#if (defined(__linux__) || defined(__APPLE__) || defined(__FreeBSD__)) && (defined(__x86_64__) || defined(__aarch64__))
#define CRD_REGISTERS_KNOWN 1
#elif defined(__linux__) && defined(__riscv)
#define CRD_REGISTERS_KNOWN 1
#else
#define CRD_REGISTERS_KNOWN 0
#endif

/* The registers of the faulting instruction; the program counter apart. An address that the processor does not accept,
 * such as poison, is not told otherwise. All zero where they are not known. */
typedef struct crd_registers {
  uintptr_t of[32];
  size_t count;
  uintptr_t counter;
  uintptr_t stack; /* pointer */
  uintptr_t link;  /* the address to return to right after a call, */
  bool calls_push; /* unless it lies at the stack pointer */
} crd_registers;

void crd_registers_read(const ucontext_t *context, crd_registers *found);

#endif
