/* Tests the code that is specific to Windows: pages, hardware, UTF-8 names, files that processes share, and faults. */
#include "tests/support/heap_fixture.h"

#include "runtime/platform/files.h"
#include "runtime/platform/process.h"
#include "tests/inside.h"

#include <errno.h>
#include <windows.h>

#define MIB ((size_t)1 << 20)
/* "é", "漢" and a character beyond the first 65,536. */
#define NAME_UTF8 "caf\xc3\xa9-\xe6\xbc\xa2-\xf0\x9f\x98\x80"
#define NAME_WIDE L"caf\x00e9-\x6f22-\xd83d\xde00"

static char folder[MAX_PATH];
static char program[MAX_PATH];

/* --- pages --- */

static bool is_accessible(const void *address) {
  MEMORY_BASIC_INFORMATION about;
  return VirtualQuery(address, &about, sizeof about) != 0 && about.State == MEM_COMMIT &&
         about.Protect == PAGE_READWRITE;
}

static void reservations_are_aligned(void **state) {
  (void)state;
  for (size_t alignment = 4096; alignment <= 1024 * MIB; alignment *= 4) {
    char *place = crd_pages_reserve(3 * MIB, alignment, NULL);
    assert_non_null(place);
    assert_int_equal((uintptr_t)place % alignment, 0);
    assert_false(is_accessible(place));
    assert_null(crd_pages_reserve(MIB, 4096, place)); /* a reserved range cannot be reserved again */
    assert_true(crd_pages_unreserve(place, 3 * MIB));
    assert_ptr_equal(crd_pages_reserve(3 * MIB, alignment, place), place);
    assert_true(crd_pages_unreserve(place, 3 * MIB));
  }
  assert_null(crd_pages_reserve((size_t)1 << 60, 4096, NULL));
  assert_null(crd_pages_reserve(MIB, 2 * MIB, (void *)0x10001000));
}

static void pages_come_and_go(void **state) {
  (void)state;
  char *place = crd_pages_reserve(8 * MIB, 2 * MIB, NULL), *middle = place + 2 * MIB;
  assert_non_null(place);
  assert_true(crd_pages_commit(middle, 2 * MIB));
  assert_true(is_accessible(middle) && !is_accessible(middle - 1) && !is_accessible(middle + 2 * MIB));
  assert_int_equal(middle[0] | middle[2 * MIB - 1], 0);
  memset(middle, 0x5a, 2 * MIB);
  assert_true(crd_pages_populate(middle, 2 * MIB));
  assert_int_equal(middle[4096], 0x5a);
  assert_true(crd_pages_protect(middle, MIB, false));
  assert_true(!is_accessible(middle) && is_accessible(middle + MIB));
  assert_true(crd_pages_protect(middle, MIB, true));
  assert_int_equal(middle[0], 0x5a);
  assert_true(crd_pages_discard(middle, 2 * MIB));
  assert_true(is_accessible(middle));
  assert_int_equal(middle[0] | middle[MIB] | middle[2 * MIB - 1], 0);
  middle[0] = 1;
  assert_true(crd_pages_release(middle, 2 * MIB));
  assert_false(is_accessible(middle));
  assert_true(crd_pages_commit(middle, 2 * MIB));
  assert_int_equal(middle[0], 0);
  assert_false(crd_pages_protect(place, 4096, true)); /* memory that is not committed */
  assert_true(crd_pages_unreserve(place, 8 * MIB));
  assert_false(crd_pages_commit(middle, 4096));
}

static void the_system_tells_what_is_resident(void **state) {
  (void)state;
  crd_pages_backing backing;
  char *place = crd_pages_reserve(4 * MIB, 2 * MIB, NULL);
  assert_true(crd_pages_commit(place, 2 * MIB));
  memset(place, 1, MIB);
  assert_true(crd_pages_backing_of(place, 4 * MIB, &backing));
  assert_in_range(backing.resident_bytes, MIB, 2 * MIB);
  assert_int_equal(backing.huge_bytes, 0);
  assert_true(crd_pages_unreserve(place, 4 * MIB));
}

static void large_pages_are_refused_in_words(void **state) {
  (void)state;
  char *place = crd_pages_reserve(4 * MIB, 2 * MIB, NULL);
  assert_false(crd_pages_commit_pool(place, 2 * MIB, 2 * MIB));
  assert_true(crd_pages_commit(place, 2 * MIB)); /* the refused commit left no hole in the reservation */
  assert_true(crd_pages_unreserve(place, 4 * MIB));
  assert_null(crd_pages_reserve_pool(2 * MIB, 2 * MIB));
  assert_non_null(strstr(crd_pages_pool_doubt(false), "\"Lock pages in memory\""));
  assert_non_null(strstr(crd_pages_pool_doubt(true), "whole nursery only"));
  cradle_options options;
  cradle_error error;
  cradle_options_init(&options);
  options.types = fixture_types;
  options.type_count = T_COUNT;
  options.hugepages_nursery = CRADLE_HUGEPAGES_HUGETLB_STRICT;
  assert_null(cradle_heap_new(&options, &error));
  assert_non_null(strstr(error.message, "hugepages_nursery: strict, but large pages"));
  assert_non_null(strstr(error.message, "base pages serve instead")); /* the whole message fits */
  options.hugepages_nursery = CRADLE_HUGEPAGES_AUTO;
  options.hugepages_arenas = CRADLE_HUGEPAGES_HUGETLB_STRICT;
  assert_null(cradle_heap_new(&options, &error));
  assert_non_null(
      strstr(error.message, "hugepages_arenas: strict, but Windows has large pages for a whole nursery only"));
  options.hugepages_arenas = CRADLE_HUGEPAGES_AUTO;
  options.hugepages_nursery = CRADLE_HUGEPAGES_HUGETLB;
  cradle_heap *heap = cradle_heap_new(&options, &error);
  if (heap == NULL) fail_msg("%s", error.message);
  cradle_heap_free(heap);
}

static void the_clock_goes_on(void **state) {
  (void)state;
  uint64_t before = crd_platform_now_ns(), date = crd_unix_time_ns();
  Sleep(20);
  uint64_t slept = crd_platform_now_ns() - before;
  assert_in_range(slept, 15000000, 5000000000);
  assert_in_range(date / 1000000000, 1700000000, 4000000000);
}

static void the_machine_is_described(void **state) {
  (void)state;
  cradle_hardware hardware;
  inside_hardware(&hardware);
  assert_int_equal(hardware.page_bytes, 4096);
  assert_in_range(hardware.l2_bytes, (size_t)64 << 10, 256 * MIB);
  assert_in_range(hardware.memory_bytes, 256 * MIB, (size_t)1 << 50);
  assert_int_equal(hardware.thp_mode, CRADLE_THP_ABSENT);
  assert_int_equal(hardware.thp_page_bytes, 0);
}

/* --- names and files --- */

static void variables_are_utf8(void **state) {
  (void)state;
  assert_true(SetEnvironmentVariableW(L"CRADLE_PROFILE", NAME_WIDE));
  assert_string_equal(crd_variable_value("CRADLE_PROFILE"), NAME_UTF8);
  /* The value keeps its address. */
  assert_ptr_equal(crd_variable_value("CRADLE_PROFILE"), crd_variable_value("CRADLE_PROFILE"));
  assert_true(SetEnvironmentVariableW(L"CRADLE_PROFILE", NULL));
  assert_null(crd_variable_value("CRADLE_PROFILE"));
}

static const char *path_in_folder(const char *name) {
  static char path[2 * MAX_PATH];
  snprintf(path, sizeof path, "%s\\%s", folder, name);
  return path;
}

static void assert_holds(const wchar_t *name, const char *text) {
  wchar_t path[2 * MAX_PATH];
  char read[256] = "";
  DWORD length = 0;
  swprintf(path, 2 * MAX_PATH, L"%hs\\%ls", folder, name);
  HANDLE file = CreateFileW(path, GENERIC_READ, 7, NULL, OPEN_EXISTING, 0, NULL);
  assert_ptr_not_equal(file, INVALID_HANDLE_VALUE);
  assert_true(ReadFile(file, read, sizeof read - 1, &length, NULL));
  CloseHandle(file);
  assert_string_equal(read, text);
}

static void names_are_utf8(void **state) {
  (void)state;
  int fd = crd_open_to_write(path_in_folder(NAME_UTF8), O_CREAT);
  assert_true(fd > CRD_STANDARD_ERROR && crd_file_empty(fd) && crd_write_all(fd, "text\n", 5) && crd_file_close(fd));
  assert_holds(NAME_WIDE, "text\n"); /* no carriage return was added */
  assert_true(crd_open_to_write(path_in_folder("no\\folder"), O_CREAT) < 0);
  assert_int_equal(errno, ENOENT);
}

static void appended_files_are_shared(void **state) {
  (void)state;
  int one = crd_open_to_write(path_in_folder("shared.log"), O_CREAT | O_APPEND);
  int two = crd_open_to_write(path_in_folder("shared.log"), O_CREAT | O_APPEND);
  assert_true(one > CRD_STANDARD_ERROR && two > CRD_STANDARD_ERROR);
  assert_true(crd_file_is_regular(one) && !crd_file_is_terminal(one));
  assert_true(crd_write_all(one, "a", 1) && crd_write_all(two, "b", 1) && crd_write_all(one, "c", 1));
  assert_holds(L"shared.log", "abc");
  assert_true(crd_file_lock_alone(one));
  assert_true(crd_write_all(two, "d", 1)); /* the lock is advisory: writing works without it */
  crd_file_lock_shared(one);
  assert_false(crd_file_lock_alone(two));
  crd_file_unlock(one);
  crd_file_unlock(two);
  assert_true(crd_file_lock_alone(two));
  assert_true(crd_file_empty(one));
  assert_holds(L"shared.log", "");
  assert_true(crd_write_all(two, "e", 1));
  assert_holds(L"shared.log", "e");
  assert_true(crd_file_close(one) && crd_file_close(two));
  assert_int_equal(crd_write_quietly(one, "x", 1), -1);
  assert_int_equal(errno, EBADF);
}

static void live_with_log(const wchar_t *value) {
  cradle_options options;
  cradle_error error;
  assert_true(SetEnvironmentVariableW(L"CRADLE_LOG", value));
  cradle_options_init(&options);
  options.types = fixture_types;
  options.type_count = T_COUNT;
  cradle_heap *heap = cradle_heap_new_from_environment(&options, &error);
  assert_non_null(heap);
  cradle_heap_free(heap);
  assert_true(SetEnvironmentVariableW(L"CRADLE_LOG", NULL));
}

static void a_log_has_a_name_in_utf8(void **state) {
  (void)state;
  wchar_t value[2 * MAX_PATH], name[2 * MAX_PATH];
  swprintf(value, 2 * MAX_PATH, L"line:%hs\\%ls.log", folder, NAME_WIDE);
  live_with_log(value);
  swprintf(name, 2 * MAX_PATH, L"%hs\\%ls.log", folder, NAME_WIDE);
  assert_int_not_equal(GetFileAttributesW(name), INVALID_FILE_ATTRIBUTES);
}

/* The colon of a drive ends no words of CRADLE_LOG. */
static void a_log_on_a_drive_needs_no_words(void **state) {
  (void)state;
  wchar_t name[2 * MAX_PATH];
  swprintf(name, 2 * MAX_PATH, L"%hs\\on_a_drive.log", folder);
  assert_true(crd_begins_with_drive(folder));
  live_with_log(name);
  assert_int_not_equal(GetFileAttributesW(name), INVALID_FILE_ATTRIBUTES);
}

/* --- faults: this program runs itself --- */

static int use_what_moved(void) {
  cradle_options options;
  cradle_error error;
  cradle_options_init(&options);
  options.types = fixture_types;
  options.type_count = T_COUNT;
  options.quarantine = 2;
  options.fault_report = true;
  cradle_heap *heap = cradle_heap_new_from_environment(&options, &error);
  cradle_mutator *m = heap != NULL ? cradle_mutator_new(heap) : NULL;
  if (m == NULL) return 3;
  pair *stale = CRADLE_NEW(m, pair, T_PAIR);
  cradle_push(m, stale);
  collect_minor(m);
  return ((volatile pair *)stale)->first == NULL ? 4 : 5;
}

/* Runs this program with the word as argument; returns its exit code and copies its output to said. */
static DWORD run_self(const char *word, char *said, size_t room) {
  char line[2 * MAX_PATH];
  HANDLE from, to;
  DWORD status, part;
  size_t length = 0;
  PROCESS_INFORMATION child;
  SECURITY_ATTRIBUTES inherited = {.nLength = sizeof inherited, .bInheritHandle = TRUE};
  assert_true(CreatePipe(&from, &to, &inherited, 1 << 16));
  STARTUPINFOA start = {.cb = sizeof start, .dwFlags = STARTF_USESTDHANDLES, .hStdError = to, .hStdOutput = to};
  snprintf(line, sizeof line, "\"%s\" %s", program, word);
  assert_true(CreateProcessA(program, line, NULL, NULL, TRUE, 0, NULL, NULL, &start, &child));
  CloseHandle(to);
  while (length < room - 1 && ReadFile(from, said + length, (DWORD)(room - 1 - length), &part, NULL) && part != 0)
    length += part;
  said[length] = '\0';
  CloseHandle(from);
  WaitForSingleObject(child.hProcess, INFINITE);
  assert_true(GetExitCodeProcess(child.hProcess, &status));
  CloseHandle(child.hProcess);
  CloseHandle(child.hThread);
  return status;
}

static void assert_says(const char *said, const char *words) {
  if (strstr(said, words) == NULL) fail_msg("\"%s\" is missing in:\n%s", words, said);
}

static void a_stale_reference_is_reported(void **state) {
  (void)state;
  char said[8192];
  assert_int_equal(run_self("use-what-moved", said, sizeof said), EXCEPTION_ACCESS_VIOLATION);
  assert_says(said, "pair");
  assert_says(said, "cradle: access violation at 0x");
  assert_says(said, ", used by:\naddr2line -f -p -i -e \"");
  assert_says(said, "test_windows.exe\" 0x");
  assert_says(said, "minor collection 1, triggered by: ");
}

static cradle_heap *new_heap(void) {
  cradle_options options;
  cradle_options_init(&options);
  options.types = fixture_types;
  options.type_count = T_COUNT;
  return cradle_heap_new(&options, NULL);
}

static int end_by_misuse(void) {
  cradle_fork_done(new_heap());
  return 3;
}

static void misuse_ends_with_the_calls(void **state) {
  (void)state;
  char said[8192];
  assert_int_not_equal(run_self("misuse", said, sizeof said), 0);
  assert_says(said, "cradle_fork_done: without cradle_fork_prepare");
  assert_says(said, "addr2line -f -p -i -e \"");
}

static void there_is_no_fork(void **state) {
  (void)state;
  cradle_error error;
  cradle_heap *heap = new_heap();
  assert_false(cradle_fork_prepare(heap, &error));
  assert_string_equal(error.message, "fork: this system has no fork()");
  cradle_heap_free(heap); /* the heap still works */
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "use-what-moved") == 0) return use_what_moved();
  if (argc > 1 && strcmp(argv[1], "misuse") == 0) return end_by_misuse();
  if (GetModuleFileNameA(NULL, program, sizeof program) == 0 || GetTempPathA(sizeof folder - 64, folder) == 0) return 1;
  snprintf(folder + strlen(folder), 64, "cradle-%lu", GetCurrentProcessId());
  if (!CreateDirectoryA(folder, NULL)) return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reservations_are_aligned),
      cmocka_unit_test(pages_come_and_go),
      cmocka_unit_test(the_system_tells_what_is_resident),
      cmocka_unit_test(large_pages_are_refused_in_words),
      cmocka_unit_test(the_clock_goes_on),
      cmocka_unit_test(the_machine_is_described),
      cmocka_unit_test(variables_are_utf8),
      cmocka_unit_test(names_are_utf8),
      cmocka_unit_test(appended_files_are_shared),
      cmocka_unit_test(a_log_has_a_name_in_utf8),
      cmocka_unit_test(a_log_on_a_drive_needs_no_words),
      cmocka_unit_test(a_stale_reference_is_reported),
      cmocka_unit_test(misuse_ends_with_the_calls),
      cmocka_unit_test(there_is_no_fork),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
