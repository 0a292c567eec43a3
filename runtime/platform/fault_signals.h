/* Faults: the signals or exceptions by which the system reports an access to memory that is not accessible. One file
 * for each system.
 *
 * [fault_signals.1] Each fault is passed on to the handler that would have got it without this module, so that the
 *                   program ends as it would have.
 * [fault_signals.2] The reporter runs on the thread that faulted, in a handler, where few functions may be called.
 */
#ifndef CRADLE_RUNTIME_PLATFORM_FAULT_SIGNALS_H
#define CRADLE_RUNTIME_PLATFORM_FAULT_SIGNALS_H

#include <cradle/base.h>

/* Whether the registers of this machine and system are known. */
#if defined(_WIN32) || defined(__linux__) || ((defined(__APPLE__) || defined(__FreeBSD__)) && !defined(__riscv))
#define CRD_REGISTERS_KNOWN 1
#else
#define CRD_REGISTERS_KNOWN 0
#endif

/* The registers at the faulting instruction. They are the only way to find an address that the processor does not
 * accept, such as poison: the system does not report it. All zero if they are not known. */
typedef struct crd_registers {
  uintptr_t of[32]; /* without the program counter */
  size_t count;
  uintptr_t counter; /* the program counter */
  uintptr_t stack;   /* the stack pointer */
  uintptr_t link;    /* the return address right after a call, */
  bool calls_push;   /* unless calls push it: then it is at the stack pointer */
} crd_registers;

typedef struct crd_fault_signal {
  const char *name;    /* "SIGSEGV" */
  const void *address; /* the accessed address; NULL: the system reports none */
  crd_registers registers;
  bool is_handled;            /* another handler comes afterwards: the process may go on */
  uintptr_t handler_stack;    /* the stack that handlers run on, */
  size_t handler_stack_bytes; /* if it is a stack of their own; else 0 */
} crd_fault_signal;

typedef void crd_fault_reporter(const crd_fault_signal *fault);

/* From now on report is called for each fault, until removal. There is one reporter. If the program installed a handler
 * later, that handler stays in front. */
void crd_fault_signals_install(crd_fault_reporter *report);
/* Removes the handler, unless a later handler stands in front, which may call this one. */
void crd_fault_signals_remove(void);

/* A number for the calling thread that no other thread has while this one lives. */
uintptr_t crd_fault_thread(void);

#endif
