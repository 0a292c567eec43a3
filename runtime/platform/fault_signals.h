/* Faults, as the system tells the process of them: an access to memory that is not there. One file a system.
 *
 * [fault_signals.1] Each fault is passed on to who would have been told without this, so that the program ends as it
 *                   would have.
 * [fault_signals.2] What reports a fault runs on the thread that faulted, where little may be called.
 */
#ifndef CRADLE_RUNTIME_PLATFORM_FAULT_SIGNALS_H
#define CRADLE_RUNTIME_PLATFORM_FAULT_SIGNALS_H

#include <cradle/base.h>

#define CRD_FAULT_REGISTERS 32

typedef struct crd_fault_signal {
  const char *name;                         /* "SIGSEGV" */
  const void *address;                      /* that was accessed; NULL: the system tells none */
  uintptr_t registers[CRD_FAULT_REGISTERS]; /* of the faulting instruction; the program counter apart */
  size_t register_count;                    /* 0: they are not known */
  uintptr_t counter;                        /* 0: not known */
  uintptr_t stack;                          /* pointer */
  uintptr_t link;                           /* the address to return to right after a call, */
  bool calls_push;                          /* unless it lies at the stack pointer */
  bool is_handled;                          /* by somebody else afterwards: the process may go on */
  uintptr_t handler_stack;                  /* the stack that handlers run on, */
  size_t handler_stack_bytes;               /* if they run on one of their own; else 0 */
} crd_fault_signal;

typedef void crd_fault_reporter(const crd_fault_signal *fault);

/* From now on report is called for each fault, until removal; there is one of them. Where a handler of the program
 * came later, it stays in front. own_stack: handlers run on the thread's own stack for them, if it has one. */
void crd_fault_signals_install(crd_fault_reporter *report, bool own_stack);
/* Unless a handler that came later stands in front: it may call this one. */
void crd_fault_signals_remove(void);

/* The calling thread, as a number that no other thread has while it lives. */
uintptr_t crd_fault_thread(void);

/* The stack that handlers run on in the calling thread. NULL: none of their own. */
char *crd_fault_stack(void);
/* Makes it that one, or with NULL none. false: the system refuses, or runs handlers elsewhere. */
bool crd_fault_stack_set(char *stack, size_t bytes);

#endif
