#include "bench/counters.h"

#include <stdio.h>
#include <string.h>

const char *const counter_names[COUNTERS] = {"cycles", "instructions", "dtlb_load_misses", "dtlb_store_misses"};

static void give_reason(counter *one, const char *reason) {
  one->fd = -1;
  snprintf(one->reason, sizeof(one->reason), "%s", reason);
}

void counters_none(counters *set, const char *reason) {
  for (int i = 0; i < COUNTERS; i++) give_reason(&set->counter[i], reason);
}

#ifdef HAVE_PFM

#include <errno.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Generic names, because libpfm4 knows these on every machine, even where it does not know the
 * machine's own events. */
static const char *const event_names[COUNTERS] = {"PERF_COUNT_HW_CPU_CYCLES", "PERF_COUNT_HW_INSTRUCTIONS",
                                                  "PERF_COUNT_HW_CACHE_DTLB:READ:MISS",
                                                  "PERF_COUNT_HW_CACHE_DTLB:WRITE:MISS"};

static void give_error(counter *one, int error) {
  char reason[sizeof(one->reason)];
  const char *meaning = error == ENOENT                     ? "this machine shows no hardware counters"
                        : error == EACCES || error == EPERM ? "not permitted, see perf_event_paranoid"
                                                            : strerror(error);
  snprintf(reason, sizeof(reason), "perf_event_open: %s", meaning);
  give_reason(one, reason);
}

static void open_one(counter *one, const char *event) {
  struct perf_event_attr attributes;
  pfm_perf_encode_arg_t encoding = {.attr = &attributes, .size = sizeof(encoding)};
  memset(&attributes, 0, sizeof(attributes));
  attributes.size = sizeof(attributes);
  int problem = pfm_get_os_event_encoding(event, PFM_PLM3, PFM_OS_PERF_EVENT, &encoding);
  if (problem != PFM_SUCCESS) {
    give_reason(one, pfm_strerror(problem));
    return;
  }
  attributes.disabled = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  one->reason[0] = '\0';
  one->fd = perf_event_open(&attributes, 0, -1, -1, 0);
  if (one->fd < 0) give_error(one, errno);
}

void counters_open(counters *set) {
  int problem = pfm_initialize();
  if (problem != PFM_SUCCESS) {
    counters_none(set, pfm_strerror(problem));
    return;
  }
  for (int i = 0; i < COUNTERS; i++) open_one(&set->counter[i], event_names[i]);
}

void counters_close(counters *set) {
  for (int i = 0; i < COUNTERS; i++)
    if (set->counter[i].fd >= 0) close(set->counter[i].fd);
  counters_none(set, "closed");
}

static void control(counters *set, unsigned long request) {
  for (int i = 0; i < COUNTERS; i++)
    if (set->counter[i].fd >= 0) ioctl(set->counter[i].fd, request, 0);
}

void counters_start(counters *set) {
  control(set, PERF_EVENT_IOC_ENABLE);
}

void counters_stop(counters *set) {
  control(set, PERF_EVENT_IOC_DISABLE);
}

bool counter_read(counter *one, double *value) {
  struct {
    uint64_t count, enabled_ns, running_ns;
  } sample;
  if (one->fd < 0) return false;
  bool complete = read(one->fd, &sample, sizeof(sample)) == (ssize_t)sizeof(sample);
  if (!complete || sample.running_ns == 0) {
    snprintf(one->reason, sizeof(one->reason), "the kernel never scheduled the counter");
    return false;
  }
  *value = (double)sample.count * ((double)sample.enabled_ns / (double)sample.running_ns);
  return true;
}

#else

void counters_open(counters *set) {
  counters_none(set, "built without libpfm4");
}

void counters_close(counters *set) {
  (void)set;
}

void counters_start(counters *set) {
  (void)set;
}

void counters_stop(counters *set) {
  (void)set;
}

bool counter_read(counter *one, double *value) {
  (void)one, (void)value;
  return false;
}

#endif
