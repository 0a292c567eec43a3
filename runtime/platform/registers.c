#include "runtime/platform/registers.h"

#if !CRD_REGISTERS_KNOWN

void crd_registers_read(const ucontext_t *context, crd_registers *found) {
  (void)context, (void)found;
}

#else

/* How each system names the machine's registers. */
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
#elif defined(__x86_64__)
#define REGISTERS(context) (&(context)->uc_mcontext.mc_rdi)
#define REGISTER_COUNT 15 /* to r15 */
#define COUNTER(context) ((context)->uc_mcontext.mc_rip)
#define STACK(context) ((context)->uc_mcontext.mc_rsp)
#else
#define REGISTERS(context) ((context)->uc_mcontext.mc_gpregs.gp_x)
#define REGISTER_COUNT 30
#define COUNTER(context) ((context)->uc_mcontext.mc_gpregs.gp_elr)
#define STACK(context) ((context)->uc_mcontext.mc_gpregs.gp_sp)
#define LINK(context) ((context)->uc_mcontext.mc_gpregs.gp_lr)
#endif

void crd_registers_read(const ucontext_t *context, crd_registers *found) {
  for (size_t i = 0; i < REGISTER_COUNT; i++) found->of[found->count++] = (uintptr_t)REGISTERS(context)[i];
  found->counter = (uintptr_t)COUNTER(context);
  found->stack = (uintptr_t)STACK(context);
#if defined(LINK)
  found->link = (uintptr_t)LINK(context);
#else
  found->calls_push = true;
#endif
}

#endif
