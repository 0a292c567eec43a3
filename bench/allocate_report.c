#include "bench/allocate_report.h"

#include <inttypes.h>
#include <stdio.h>

#include "bench/timing.h"

#define MIB 1048576.0

/* --- for table and JSON --- */

static double bytes_of(const figure *one) {
  return (double)one->objects * (double)sizeof(node);
}

static double gb_a_second(const figure *one) {
  return (double)sizeof(node) / one->ns;
}

static double gc_share(const measurement *result) {
  double collector_ns = (double)(result->stats.minor_ns + result->stats.major_ns);
  return collector_ns * 1e-9 / result->figures[VARIANT_CRADLE].seconds;
}

static double mean_minor_ns(const cradle_statistics *stats) {
  return (double)stats->minor_ns / (double)stats->minor_collections;
}

static const char *pages_obtained(const cradle_region *nursery) {
  switch (nursery->obtained) {
  case CRADLE_BACKING_UNKNOWN: return NULL;
  case CRADLE_BACKING_NOTHING:
  case CRADLE_BACKING_BASE: return "base";
  case CRADLE_BACKING_PARTLY_HUGE: return "mixed";
  case CRADLE_BACKING_HUGE: return "huge";
  }
  return NULL;
}

static bool measured(const measurement *result, variant which) {
  return result->figures[which].missing == NULL;
}

/* --- the table --- */

static void print_cradle(const measurement *result) {
  const figure *cradle = &result->figures[VARIANT_CRADLE];
  const cradle_statistics *stats = &result->stats;
  printf("objects              %" PRIu64 "\n", cradle->objects);
  printf("time                 %.3f s\n", cradle->seconds);
  printf("allocated            %.3f GB\n", bytes_of(cradle) * 1e-9);
  printf("rate                 %.2f GB/s\n", gb_a_second(cradle));
  printf("an allocation        %.3f ns\n", cradle->ns);
  if (measured(result, VARIANT_BARE)) {
    printf("bare loop            %.3f ns\n", result->figures[VARIANT_BARE].ns);
    printf("ratio to bare        %.3f\n", result->ratio_to_bare);
  }
  printf("minor collections    %" PRIu64 "\n", stats->minor_collections);
  printf("time in collector    %.2f %%\n", gc_share(result) * 100);
  char mean[32], empty[32], longest[32];
  printf("minor collection     %s on average, %s when empty, %s the longest\n",
         duration_text(mean_minor_ns(stats), mean), duration_text(result->empty_minor_ns, empty),
         duration_text((double)stats->minor_max_ns, longest));
}

static void print_pages(const measurement *result) {
  const cradle_region *nursery = &result->memory.nursery;
  const char *obtained = pages_obtained(nursery);
  printf("nursery              %.2f MiB, pages asked: %s, obtained: ", (double)result->stats.nursery_bytes / MIB,
         hugepages_names[nursery->asked]);
  if (obtained == NULL)
    printf("n/a (the system does not tell)\n");
  else
    printf("%s (%.2f of %.2f MiB resident are huge)\n", obtained, (double)nursery->huge_bytes / MIB,
           (double)nursery->resident_bytes / MIB);
}

static void print_peer(const measurement *result, variant which) {
  const figure *one = &result->figures[which];
  if (one->missing != NULL) {
    printf("%-20s n/a (%s)\n", variant_names[which], one->missing);
    return;
  }
  printf("%-20s %.3f ns", variant_names[which], one->ns);
  if (measured(result, VARIANT_CRADLE)) printf(", %.2f times Cradle's", one->ns / result->figures[VARIANT_CRADLE].ns);
  printf("\n");
}

static void print_counters(const measurement *result, variant which) {
  const figure *one = &result->figures[which];
  if (one->missing != NULL) return;
  for (int i = 0; i < COUNTERS; i++) {
    printf("%-8s %-17s ", variant_names[which], counter_names[i]);
    if (one->counter_reasons[i][0] == '\0')
      printf("%.2f an allocation\n", one->counts[i]);
    else
      printf("n/a (%s)\n", one->counter_reasons[i]);
  }
}

static void print_offsets(const measurement *result, variant which) {
  const figure *one = &result->figures[which];
  if (one->missing != NULL) return;
  printf("%-8s by offset", variant_names[which]);
  for (int i = 0; i < LOOP_OFFSETS; i++) printf(" %.3f", one->offset_ns[i]);
  printf(" ns\n");
}

static void print_last(const measurement *result, variant which, bool init) {
  const figure *one = &result->figures[which];
  printf("%-8s last two    %s %" PRIu64 " and %" PRIu64 "\n", variant_names[which], init ? "fields" : "types",
         one->last[0], one->last[1]);
}

void allocate_report_table(const allocate_options *options, const measurement *result) {
  if (measured(result, VARIANT_CRADLE)) {
    print_cradle(result);
    print_pages(result);
  } else if (measured(result, VARIANT_BARE)) {
    print_peer(result, VARIANT_BARE);
  }
  for (int which = VARIANT_PEER; which < VARIANT_NONE; which++)
    if (options->only == VARIANT_NONE ? options->against[which] : options->only == (variant)which)
      print_peer(result, (variant)which);
  for (int which = VARIANT_CRADLE; which < VARIANT_PEER; which++) {
    if (options->counters) print_counters(result, (variant)which);
    if (options->offsets) print_offsets(result, (variant)which);
  }
  for (int which = VARIANT_CRADLE; which < VARIANT_NONE; which++)
    if (measured(result, (variant)which)) print_last(result, (variant)which, options->init);
}

/* --- JSON: every string below is one of this program's own and needs no escapes --- */

static void json_offsets(const figure *one) {
  printf("[");
  for (int i = 0; i < LOOP_OFFSETS; i++) printf("%s%.4f", i == 0 ? "" : ", ", one->offset_ns[i]);
  printf("]");
}

static void json_counters(const figure *one) {
  printf("{");
  for (int i = 0; i < COUNTERS; i++) {
    printf("%s\"%s\": ", i == 0 ? "" : ", ", counter_names[i]);
    if (one->counter_reasons[i][0] == '\0')
      printf("{\"value\": %.4f}", one->counts[i]);
    else
      printf("{\"value\": null, \"reason\": \"%s\"}", one->counter_reasons[i]);
  }
  printf("}");
}

static void json_pages(const cradle_region *nursery) {
  const char *obtained = pages_obtained(nursery);
  printf("  \"pages\": {\"asked\": \"%s\", \"obtained\": ", hugepages_names[nursery->asked]);
  if (obtained == NULL)
    printf("null, \"reason\": \"the system does not tell\"},\n");
  else
    printf("\"%s\", \"huge_bytes\": %" PRIu64 ", \"resident_bytes\": %" PRIu64 "},\n", obtained, nursery->huge_bytes,
           nursery->resident_bytes);
}

static void json_cradle(const measurement *result) {
  const figure *cradle = &result->figures[VARIANT_CRADLE];
  printf("  \"objects\": %" PRIu64 ",\n  \"seconds\": %.6f,\n", cradle->objects, cradle->seconds);
  printf("  \"gigabytes\": %.6f,\n  \"gigabytes_per_second\": %.4f,\n", bytes_of(cradle) * 1e-9, gb_a_second(cradle));
  printf("  \"ns_per_allocation\": %.4f,\n", cradle->ns);
  printf("  \"minor_collections\": %" PRIu64 ",\n", result->stats.minor_collections);
  printf("  \"gc_share\": %.6f,\n  \"mean_minor_ns\": %.1f,\n  \"empty_minor_ns\": %.1f,\n", gc_share(result),
         mean_minor_ns(&result->stats), result->empty_minor_ns);
  printf("  \"longest_minor_ns\": %" PRIu64 ",\n", result->stats.minor_max_ns);
  printf("  \"nursery_bytes\": %" PRIu64 ",\n", result->stats.nursery_bytes);
  json_pages(&result->memory.nursery);
  printf("  \"offsets_ns\": ");
  json_offsets(cradle);
  printf(",\n  \"counters\": ");
  json_counters(cradle);
  printf(",\n");
}

static void json_bare(const measurement *result) {
  const figure *one = &result->figures[VARIANT_BARE];
  printf("  \"bare_ns_per_allocation\": %.4f,\n  \"bare_offsets_ns\": ", one->ns);
  json_offsets(one);
  printf(",\n  \"bare_counters\": ");
  json_counters(one);
  printf(",\n");
}

static void json_peer(const measurement *result, variant which) {
  const figure *one = &result->figures[which];
  printf("    \"%s\": ", variant_names[which]);
  if (one->missing != NULL) {
    printf("{\"ns_per_allocation\": null, \"reason\": \"%s\"}", one->missing);
    return;
  }
  printf("{\"ns_per_allocation\": %.4f, \"seconds\": %.6f", one->ns, one->seconds);
  if (measured(result, VARIANT_CRADLE))
    printf(", \"ratio_to_cradle\": %.4f", one->ns / result->figures[VARIANT_CRADLE].ns);
  printf("}");
}

void allocate_report_json(const allocate_options *options, const measurement *result) {
  printf("{\n  \"format\": 1,\n  \"api\": \"%s\",\n  \"init\": %d,\n  \"runs\": %u,\n", api_names[options->api],
         options->init, options->runs);
  if (measured(result, VARIANT_CRADLE)) json_cradle(result);
  if (measured(result, VARIANT_BARE)) json_bare(result);
  if (result->ratio_to_bare > 0)
    printf("  \"ratio_to_bare\": %.4f,\n", result->ratio_to_bare);
  else
    printf("  \"ratio_to_bare\": null,\n");
  printf("  \"peers\": {\n");
  for (int which = VARIANT_PEER; which < VARIANT_NONE; which++) {
    json_peer(result, (variant)which);
    printf(which + 1 < VARIANT_NONE ? ",\n" : "\n");
  }
  printf("  }\n}\n");
}
