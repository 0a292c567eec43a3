/* Printing what workload_measure found. */
#ifndef BENCH_WORKLOAD_REPORT_H
#define BENCH_WORKLOAD_REPORT_H

#include "bench/workload_measure.h"

void workload_print_table(const workload *work, const workload_run *run, variant_result results[VARIANTS]);
void workload_print_json(const workload *work, const workload_run *run, variant_result results[VARIANTS]);

#endif
