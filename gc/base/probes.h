/* Static probes (USDT) for bpftrace, perf, SystemTap and gdb, with the provider "cradle". docs/probes.md lists them.
 *
 * If it is built with <sys/sdt.h> (Meson option probes), each probe is one nop and a note in the library; otherwise,
 * nothing. Arguments are integers and addresses that are there anyway: a probe computes nothing.
 */
#ifndef CRADLE_GC_BASE_PROBES_H
#define CRADLE_GC_BASE_PROBES_H

#if defined(CRADLE_PROBES) && CRADLE_PROBES
#include <sys/sdt.h>
#if defined(__clang__) /* sdt.h's macros pass no argument for "..." */
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#endif
#define PROBE1(name, a) DTRACE_PROBE1(cradle, name, a)
#define PROBE2(name, a, b) DTRACE_PROBE2(cradle, name, a, b)
#define PROBE3(name, a, b, c) DTRACE_PROBE3(cradle, name, a, b, c)
#define PROBE4(name, a, b, c, d) DTRACE_PROBE4(cradle, name, a, b, c, d)
#else
#define PROBE1(name, a) ((void)(a))
#define PROBE2(name, a, b) ((void)(a), (void)(b))
#define PROBE3(name, a, b, c) ((void)(a), (void)(b), (void)(c))
#define PROBE4(name, a, b, c, d) ((void)(a), (void)(b), (void)(c), (void)(d))
#endif

#endif
