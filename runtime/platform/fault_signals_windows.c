/* Faults are exceptions, which a vectored handler sees before any other handler. It runs on the stack of the thread
 * that faulted, and passes every exception on. */
#include "runtime/platform/fault_signals.h"

#define WIN32_LEAN_AND_MEAN 1
#include <windows.h>

static void *installed; /* NULL: no handler is installed */
static crd_fault_reporter *reporter;

uintptr_t crd_fault_thread(void) {
  return GetCurrentThreadId();
}

/* For an address that the processor does not accept, such as poison, Windows reports all ones. */
static const void *address_of_access(const EXCEPTION_RECORD *record) {
  if (record->NumberParameters < 2 || record->ExceptionInformation[1] == UINTPTR_MAX) return NULL;
  return (const void *)record->ExceptionInformation[1];
}

static void read_registers(const CONTEXT *context, crd_registers *found) {
  const DWORD64 all[] = {context->Rax, context->Rcx, context->Rdx, context->Rbx, context->Rbp,
                         context->Rsi, context->Rdi, context->R8,  context->R9,  context->R10,
                         context->R11, context->R12, context->R13, context->R14, context->R15};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) found->of[found->count++] = (uintptr_t)all[i];
  found->counter = (uintptr_t)context->Rip;
  found->stack = (uintptr_t)context->Rsp;
  found->calls_push = true;
}

/* It is not known here whether another handler comes afterwards, so the process may go on. */
static LONG CALLBACK on_exception(EXCEPTION_POINTERS *exception) {
  const EXCEPTION_RECORD *record = exception->ExceptionRecord;
  crd_fault_signal fault = {.is_handled = true, .address = address_of_access(record)};
  if (record->ExceptionCode == EXCEPTION_ACCESS_VIOLATION)
    fault.name = "access violation";
  else if (record->ExceptionCode == EXCEPTION_IN_PAGE_ERROR)
    fault.name = "in-page error";
  else
    return EXCEPTION_CONTINUE_SEARCH;
  read_registers(exception->ContextRecord, &fault.registers);
  reporter(&fault);
  return EXCEPTION_CONTINUE_SEARCH;
}

void crd_fault_signals_install(crd_fault_reporter *report) {
  reporter = report;
  if (installed == NULL) installed = AddVectoredExceptionHandler(1, on_exception);
}

void crd_fault_signals_remove(void) {
  if (installed != NULL) RemoveVectoredExceptionHandler(installed);
  installed = NULL;
}
