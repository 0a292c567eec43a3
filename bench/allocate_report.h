/* The results of allocate-a-lot, as a table for people or as one JSON object. */
#ifndef BENCH_ALLOCATE_REPORT_H
#define BENCH_ALLOCATE_REPORT_H

#include "bench/allocate_measure.h"

void allocate_report_table(const allocate_options *options, const measurement *result);
void allocate_report_json(const allocate_options *options, const measurement *result);

#endif
