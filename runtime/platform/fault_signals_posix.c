/* Faults are the signals SIGSEGV and SIGBUS. */
#include "runtime/platform/fault_signals.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

static const int signals[] = {SIGSEGV, SIGBUS};
#define SIGNALS (sizeof signals / sizeof *signals)
static bool installed[SIGNALS]; /* and not removed: a later handler may still call ours */
static struct sigaction before[SIGNALS];
static crd_fault_reporter *reporter;

uintptr_t crd_fault_thread(void) {
  return (uintptr_t)pthread_self();
}

/* --- the registers, as each system names them --- */

#if defined(__linux__) && defined(__x86_64__)
#define REGISTERS(context) ((context)->uc_mcontext.gregs)
#define REGISTER_COUNT REG_RIP
#define COUNTER(context) ((context)->uc_mcontext.gregs[REG_RIP])
#define STACK(context) ((context)->uc_mcontext.gregs[REG_RSP])
#elif defined(__linux__) && defined(__aarch64__)
#define REGISTERS(context) ((context)->uc_mcontext.regs)
#define REGISTER_COUNT 31
#define COUNTER(context) ((context)->uc_mcontext.pc)
#define STACK(context) ((context)->uc_mcontext.sp)
#define LINK(context) ((context)->uc_mcontext.regs[30])
#elif defined(__linux__)
#define REGISTERS(context) ((context)->uc_mcontext.__gregs)
#define REGISTER_COUNT 32
#define COUNTER(context) ((context)->uc_mcontext.__gregs[0]) /* it has the place of the register that is always zero */
#define STACK(context) ((context)->uc_mcontext.__gregs[2])
#define LINK(context) ((context)->uc_mcontext.__gregs[1])
#elif defined(__APPLE__) && defined(__x86_64__)
#define REGISTERS(context) ((const uint64_t *)&(context)->uc_mcontext->__ss)
#define REGISTER_COUNT 16
#define COUNTER(context) ((context)->uc_mcontext->__ss.__rip)
#define STACK(context) ((context)->uc_mcontext->__ss.__rsp)
#elif defined(__APPLE__)
#define REGISTERS(context) ((context)->uc_mcontext->__ss.__x)
#define REGISTER_COUNT 29
#define COUNTER(context) __darwin_arm_thread_state64_get_pc((context)->uc_mcontext->__ss)
#define STACK(context) __darwin_arm_thread_state64_get_sp((context)->uc_mcontext->__ss)
#define LINK(context) __darwin_arm_thread_state64_get_lr((context)->uc_mcontext->__ss)
#elif CRD_REGISTERS_KNOWN && defined(__x86_64__)
#define REGISTERS(context) (&(context)->uc_mcontext.mc_rdi)
#define REGISTER_COUNT 15 /* to r15 */
#define COUNTER(context) ((context)->uc_mcontext.mc_rip)
#define STACK(context) ((context)->uc_mcontext.mc_rsp)
#elif CRD_REGISTERS_KNOWN
#define REGISTERS(context) ((context)->uc_mcontext.mc_gpregs.gp_x)
#define REGISTER_COUNT 30
#define COUNTER(context) ((context)->uc_mcontext.mc_gpregs.gp_elr)
#define STACK(context) ((context)->uc_mcontext.mc_gpregs.gp_sp)
#define LINK(context) ((context)->uc_mcontext.mc_gpregs.gp_lr)
#endif

/* Reads them from the context that a signal handler gets. */
static void read_registers(const ucontext_t *context, crd_registers *found) {
  (void)context, (void)found;
#if CRD_REGISTERS_KNOWN
  for (size_t i = 0; i < REGISTER_COUNT; i++) found->of[found->count++] = (uintptr_t)REGISTERS(context)[i];
  found->counter = (uintptr_t)COUNTER(context);
  found->stack = (uintptr_t)STACK(context);
#if defined(LINK)
  found->link = (uintptr_t)LINK(context);
#else
  found->calls_push = true;
#endif
#endif
}

/* --- what happened --- */

static bool is_handler(const struct sigaction *action) {
  return (action->sa_flags & SA_SIGINFO) || (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);
}

/* Not inlined, to keep its variables out of the caller's frame: on a small signal stack the report needs that room. */
static CRADLE_NOINLINE void tell(int number, const siginfo_t *info, const ucontext_t *context) {
  crd_fault_signal fault = {.name = number == SIGBUS ? "SIGBUS" : "SIGSEGV", .address = info->si_addr};
  read_registers(context, &fault.registers);
  fault.is_handled = is_handler(&before[number == SIGBUS]);
  fault.handler_stack = (uintptr_t)context->uc_stack.ss_sp;
  fault.handler_stack_bytes = context->uc_stack.ss_size;
  reporter(&fault);
}

/* --- the handler --- */

static void die_by_default(int number, const siginfo_t *info) {
  struct sigaction action = {.sa_handler = SIG_DFL};
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, NULL);
  /* a process sent the signal: raise it, and it comes when the handler returns. A fault comes again by itself */
  if (info->si_code <= 0) raise(number);
}

static void pass_on(int number, siginfo_t *info, void *context, const struct sigaction *to) {
  if (to->sa_flags & SA_SIGINFO)
    to->sa_sigaction(number, info, context);
  else if (to->sa_handler == SIG_IGN && info->si_code <= 0)
    return;
  else if (to->sa_handler == SIG_DFL || to->sa_handler == SIG_IGN)
    die_by_default(number, info);
  else
    to->sa_handler(number);
}

static void on_fault(int number, siginfo_t *info, void *context) {
  int error = errno;
  struct sigaction *to = &before[number == SIGBUS];
  if (info->si_code > 0) tell(number, info, context);
  errno = error;
  struct sigaction mine = *to;
  if (to->sa_flags & SA_RESETHAND) *to = (struct sigaction){.sa_handler = SIG_DFL};
  pass_on(number, info, context, &mine);
}

/* --- it comes and goes --- */

static bool is_ours(const struct sigaction *action) {
  return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_fault;
}

static bool is_same(const struct sigaction *a, const struct sigaction *b) {
  if ((a->sa_flags & SA_SIGINFO) != (b->sa_flags & SA_SIGINFO)) return false;
  return (a->sa_flags & SA_SIGINFO) ? a->sa_sigaction == b->sa_sigaction : a->sa_handler == b->sa_handler;
}

/* The flags and the mask are those of the handler before this one, so that it runs as it asked to. */
static void install_in_front(size_t i, const struct sigaction *current) {
  struct sigaction action = {.sa_sigaction = on_fault, .sa_mask = current->sa_mask};
  action.sa_flags = SA_SIGINFO | (current->sa_flags & (SA_NODEFER | SA_ONSTACK | SA_RESTART));
  if (!(current->sa_flags & SA_SIGINFO) && current->sa_handler == SIG_DFL) action.sa_flags |= SA_ONSTACK;
  before[i] = *current;
  installed[i] = true;
  sigaction(signals[i], &action, NULL);
}

/* If the program installed a handler after ours, ours stays behind it, because that handler may call ours. If the
 * default, ignoring or the handler that ours calls is in place, nobody calls ours, and it is installed again. (That
 * handler does not call ours, or the two would call each other without end.) */
void crd_fault_signals_install(crd_fault_reporter *report) {
  reporter = report;
  for (size_t i = 0; i < SIGNALS; i++) {
    struct sigaction current;
    sigaction(signals[i], NULL, &current);
    if (is_ours(&current)) continue;
    if (!installed[i] || !is_handler(&current) || is_same(&current, &before[i])) install_in_front(i, &current);
  }
}

void crd_fault_signals_remove(void) {
  for (size_t i = 0; i < SIGNALS; i++) {
    struct sigaction current;
    sigaction(signals[i], NULL, &current);
    if (!is_ours(&current)) continue;
    sigaction(signals[i], &before[i], NULL);
    installed[i] = false;
  }
}
