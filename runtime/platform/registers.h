/* The registers at a fault, read from the context that a signal handler gets. */
#ifndef CRADLE_RUNTIME_PLATFORM_REGISTERS_H
#define CRADLE_RUNTIME_PLATFORM_REGISTERS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the registers of this machine and system are known. */
#if (defined(__linux__) || defined(__APPLE__) || defined(__FreeBSD__)) && (defined(__x86_64__) || defined(__aarch64__))
#define CRD_REGISTERS_KNOWN 1
#elif defined(__linux__) && defined(__riscv)
#define CRD_REGISTERS_KNOWN 1
#else
#define CRD_REGISTERS_KNOWN 0
#endif

/* The registers at the faulting instruction; the program counter is separate. They are the only way to find an address
 * that the processor does not accept, such as poison: the system does not report it. All zero if they are not known. */
typedef struct crd_registers {
  uintptr_t of[32];
  size_t count;
  uintptr_t counter;
  uintptr_t stack; /* the stack pointer */
  uintptr_t link;  /* the return address right after a call, */
  bool calls_push; /* unless calls push it: then it is at the stack pointer */
} crd_registers;

void crd_registers_read(const ucontext_t *context, crd_registers *found);

#endif
