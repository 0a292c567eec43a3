#include "gc/death/list.h"

#include "gc/death/services.h"
#include "gc/platform/pages.h"

bool crd_pace_is_over_slow(crd_pace *pace) {
  pace->countdown = PACE_ENTRIES;
  return pace->budget.bytes == 0 ||
         (pace->budget.deadline_ns != UINT64_MAX && crd_platform_now_ns() >= pace->budget.deadline_ns);
}

bool crd_list_pass(crd_death *death, int kind, crd_entry_function judge, crd_pace *pace) {
  crd_list *list = &death->services->lists[kind];
  if (list->words.base == NULL) return true;
  ASSERT(list->young == list->words.top, "[services.1] a pass while objects are young");
  /* Kept entries are moved down as the pass goes, so that dropping one costs nothing and the pass can stop anywhere. */
  while (list->next < list->young) {
    crd_verdict verdict = judge(death, list->next);
    if (verdict == ENTRY_KEEP) *list->kept++ = *list->next;
    if (verdict != ENTRY_AGAIN) list->next++;
    if (pace_is_over(pace)) return false;
  }
  list->words.top = list->young = list->kept;
  list->kept = list->next = list->words.base;
  return true;
}
