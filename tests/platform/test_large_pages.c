/* A nursery in Windows' large pages, where they are given. Functions of this file stand in for those of Windows that
 * give a privilege and large pages (large_pages_calls.h). */
#include "tests/platform/large_pages_calls.h"
#include "tests/support/heap_fixture.h"

#include "tests/inside.h"

#define MIB ((size_t)1 << 20)

static struct {
  bool account_has_privilege, memory_is_short;
  int enabled, large;
} windows;

SIZE_T large_page_minimum(void) {
  return 2 * MIB;
}
BOOL lookup_privilege(LPCSTR system, LPCSTR name, LUID *found) {
  assert_null(system);
  assert_string_equal(name, "SeLockMemoryPrivilege");
  *found = (LUID){.LowPart = 4};
  return TRUE;
}
/* Succeeds in any case, and says by its error whether all was given. */
BOOL adjust_privileges(HANDLE token, BOOL none, TOKEN_PRIVILEGES *wanted, DWORD size, void *before, void *length) {
  assert_non_null(token);
  assert_true(!none && size == 0 && before == NULL && length == NULL && wanted->PrivilegeCount == 1);
  assert_int_equal(wanted->Privileges[0].Luid.LowPart, 4);
  assert_int_equal(wanted->Privileges[0].Attributes, SE_PRIVILEGE_ENABLED);
  if (windows.account_has_privilege) windows.enabled++;
  SetLastError(windows.account_has_privilege ? ERROR_SUCCESS : ERROR_NOT_ALL_ASSIGNED);
  return TRUE;
}
void *alloc_pages(void *address, SIZE_T size, DWORD kind, DWORD protection) {
  if (!(kind & MEM_LARGE_PAGES)) return VirtualAlloc(address, size, kind, protection);
  assert_int_equal(kind, MEM_RESERVE | MEM_COMMIT | MEM_LARGE_PAGES);
  assert_null(address);
  assert_int_equal(size % (2 * MIB), 0);
  assert_true(windows.enabled > 0);
  if (windows.memory_is_short) return NULL;
  windows.large++;
  char *larger = VirtualAlloc(NULL, size + 2 * MIB, MEM_RESERVE, PAGE_NOACCESS);
  char *aligned = (char *)(((uintptr_t)larger + 2 * MIB - 1) & ~(uintptr_t)(2 * MIB - 1));
  VirtualFree(larger, 0, MEM_RELEASE);
  return VirtualAlloc(aligned, size, MEM_RESERVE | MEM_COMMIT, protection);
}

static char notes[2000];

static void note(void *data, const cradle_event *event) {
  (void)data;
  if (event->kind != CRADLE_EVENT_NOTE) return;
  size_t length = strlen(notes);
  snprintf(notes + length, sizeof notes - length, "%s\n", event->u.note.text);
}

static cradle_heap *open_heap(cradle_hugepages policy, cradle_error *error) {
  static const cradle_hardware hardware = {.page_bytes = 4096,
                                           .pool_page_bytes = 2 * MIB,
                                           .thp_mode = CRADLE_THP_ABSENT,
                                           .l2_bytes = MIB,
                                           .memory_bytes = 1024 * MIB};
  cradle_options options;
  cradle_options_init(&options);
  options.types = fixture_types;
  options.type_count = T_COUNT;
  options.hardware = &hardware;
  options.hugepages_nursery = policy;
  options.hugepages_arenas = CRADLE_HUGEPAGES_HUGETLB;
  options.listener = (cradle_listener){note, NULL};
  notes[0] = '\0';
  windows.enabled = windows.large = 0;
  return cradle_heap_new(&options, error);
}

static void assert_noted(const char *words, bool expected) {
  if ((strstr(notes, words) != NULL) != expected) fail_msg("\"%s\" is %s in:\n%s", words, expected ? "not" : "", notes);
}

static void use(cradle_heap *heap) {
  cradle_mutator *m = cradle_mutator_new(heap);
  assert_non_null(m);
  for (int i = 0; i < 500000; i++) (void)CRADLE_NEW(m, pair, T_PAIR);
  cradle_mutator_free(m);
}

static void a_nursery_has_large_pages(void **state) {
  (void)state;
  cradle_error error;
  cradle_memory memory;
  windows.account_has_privilege = true;
  windows.memory_is_short = false;
  cradle_heap *heap = open_heap(CRADLE_HUGEPAGES_HUGETLB_STRICT, &error);
  if (heap == NULL) fail_msg("%s", error.message);
  assert_int_equal(windows.large, 1);
  cradle_memory_report(heap, &memory, sizeof memory);
  assert_int_equal(memory.nursery.pool_bytes, memory.nursery.committed_bytes);
  assert_int_equal(memory.nursery.reserved_bytes, memory.nursery.committed_bytes);
  assert_int_equal(memory.arenas.pool_bytes, 0);
  assert_noted("Lock pages", false);
  assert_noted("whole nursery only", true);
  size_t bytes = inside_nursery(heap)->bytes;
  assert_false(crd_nursery_resize(&heap->young, bytes + 2 * MIB, "test")); /* it never grows */
  assert_true(crd_nursery_resize(&heap->young, bytes / 2, "test"));
  use(heap);
  crd_nursery_discard(&heap->young, true); /* what is locked stays */
  use(heap);
  assert_true(cradle_heap_verify(heap, &error));
  cradle_heap_free(heap);
}

static void a_missing_privilege_is_named(void **state) {
  (void)state;
  cradle_error error;
  cradle_memory memory;
  windows.account_has_privilege = false;
  cradle_heap *heap = open_heap(CRADLE_HUGEPAGES_HUGETLB, &error);
  assert_non_null(heap);
  assert_int_equal(windows.large, 0);
  cradle_memory_report(heap, &memory, sizeof memory);
  assert_int_equal(memory.nursery.pool_bytes, 0);
  assert_noted("large pages need the privilege \"Lock pages in memory\"", true);
  use(heap);
  cradle_heap_free(heap);
  assert_null(open_heap(CRADLE_HUGEPAGES_HUGETLB_STRICT, &error));
  assert_non_null(strstr(error.message, "secpol.msc"));
}

/* Memory is often too scattered for pages of 2 MiB. */
static void refused_memory_is_no_failure(void **state) {
  (void)state;
  cradle_error error;
  windows.account_has_privilege = windows.memory_is_short = true;
  cradle_heap *heap = open_heap(CRADLE_HUGEPAGES_HUGETLB, &error);
  assert_non_null(heap);
  assert_noted("the huge-page pool refused the nursery: base pages instead", true);
  assert_noted("Lock pages", false);
  use(heap);
  cradle_heap_free(heap);
  assert_null(open_heap(CRADLE_HUGEPAGES_HUGETLB_STRICT, &error));
  assert_non_null(strstr(error.message, "hugepages_nursery: strict"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_nursery_has_large_pages),
      cmocka_unit_test(a_missing_privilege_is_named),
      cmocka_unit_test(refused_memory_is_no_failure),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
