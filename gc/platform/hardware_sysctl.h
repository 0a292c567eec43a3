/* Hardware of systems other than Linux, which have no /sys and no /proc to read. */
#ifndef CRADLE_GC_PLATFORM_HARDWARE_SYSCTL_H
#define CRADLE_GC_PLATFORM_HARDWARE_SYSCTL_H

#include <cradle/options.h>

#if !defined(__linux__)
/* Reads what such a system tells of the parts (gc/platform/hardware.h). What it does not tell stays as it was. */
void crd_hardware_read_sysctl(cradle_hardware *hardware, unsigned parts);
#endif

#endif
