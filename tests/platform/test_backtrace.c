/* Tests the commands that a backtrace is written as. What the module asks the system is answered here:
 * which files are loaded and which calls are under way (backtrace_calls.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/inside.h"

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "tests/platform/backtrace_calls.h"

/* --- what was written --- */

/* The longest text that one call writes: the module's buffer is as long. */
#define WRITE_MAX_BYTES 256

static struct {
  char text[8192];
  size_t length;
  size_t at_once;              /* the most that one call takes */
  unsigned calls;              /* so far */
  unsigned fail_from, fail_to; /* these calls fail, counted from 1 */
  ssize_t failure;             /* -1 or 0: what they return */
  int error;                   /* their errno */
} out;

ssize_t stub_write(int file, const void *words, size_t length) {
  out.calls++;
  if (file != STDERR_FILENO) {
    errno = EBADF;
    return -1;
  }
  assert_in_range(length, 1, WRITE_MAX_BYTES);
  if (out.calls >= out.fail_from && out.calls <= out.fail_to) {
    errno = out.error;
    return out.failure;
  }
  if (length > out.at_once) length = out.at_once;
  assert_true(out.length + length < sizeof out.text);
  memcpy(out.text + out.length, words, length);
  out.length += length;
  errno = 99;
  return (ssize_t)length;
}

static int reset(void **state) {
  (void)state;
  memset(&out, 0, sizeof out);
  out.at_once = SIZE_MAX;
  return 0;
}

static const char *written(const crd_backtrace *trace) {
  out.length = 0;
  errno = 77;
  crd_backtrace_write(trace);
  assert_int_equal(errno, 77);
  out.text[out.length] = '\0';
  return out.text;
}

#ifdef __GLIBC__

/* --- the system --- */

#define PROGRAM UINT64_C(0x555500000000)
#define LIBRARY UINT64_C(0x7f1200000000)
#define OTHER UINT64_C(0x7f1300001000)
#define ENTRY (PROGRAM + 0x2100)

/* Each file has code at 0 to 0x1000 and at 0x2000 to 0x6000, and between them something that is not loaded there. */
static const ElfW(Phdr) segments[] = {{.p_type = PT_LOAD, .p_vaddr = 0, .p_memsz = 0x1000},
                                      {.p_type = PT_NOTE, .p_vaddr = 0, .p_memsz = 0x2000},
                                      {.p_type = PT_LOAD, .p_vaddr = 0x2000, .p_memsz = 0x4000},
                                      {.p_type = PT_LOAD, .p_vaddr = 0x6000, .p_memsz = 0x1000}}; /* not the file's */

static struct {
  const char *program;              /* the path of the program's file; NULL: it cannot be read */
  const char *library;              /* its name */
  unsigned paths, searches, traces; /* times that each was asked for */
  int depth;                        /* what backtrace() finds: calls that return to 0x101, 0x102 and so on */
} machine;

int stub_iterate(int (*visit)(struct dl_phdr_info *info, size_t size, void *data), void *data) {
  struct dl_phdr_info files[] = {{.dlpi_addr = PROGRAM, .dlpi_name = ""},
                                 {.dlpi_addr = LIBRARY, .dlpi_name = machine.library},
                                 {.dlpi_addr = OTHER, .dlpi_name = "/lib/other.so"}};
  machine.searches++;
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    files[i].dlpi_phdr = segments;
    files[i].dlpi_phnum = sizeof segments / sizeof *segments - 1;
    int over = visit(&files[i], sizeof files[i], data);
    if (over != 0) return over;
  }
  return 0;
}

unsigned long stub_entry(unsigned long name) {
  assert_int_equal(name, AT_ENTRY);
  return ENTRY;
}

ssize_t stub_readlink(const char *path, char *buffer, size_t size) {
  assert_string_equal(path, "/proc/self/exe");
  machine.paths++;
  if (machine.program == NULL) return -1;
  size_t length = strlen(machine.program);
  if (length > size) length = size;
  memcpy(buffer, machine.program, length);
  return (ssize_t)length;
}

int stub_backtrace(void **returns, int most) {
  assert_int_equal(most, 1 + BACKTRACE_MOST);
  machine.traces++;
  int depth = machine.depth < most ? machine.depth : most;
  for (int i = 0; i < depth; i++) returns[i] = (void *)(uintptr_t)(0x101 + i);
  return depth;
}

static int reset_machine(void **state) {
  memset(&machine, 0, sizeof machine);
  machine.program = "/bin/vm";
  machine.library = "/lib/lib.so";
  return reset(state);
}

#define TRACE(...) \
  (&(crd_backtrace){.depth = sizeof((uintptr_t[]){__VA_ARGS__}) / sizeof(uintptr_t), .calls = {__VA_ARGS__}})

#define OF_VM "addr2line -f -p -i -e /bin/vm"
#define OF_LIBRARY "addr2line -f -p -i -e /lib/lib.so"
#define OF_NOTHING "cradle: in no file (generated code?):"

/* --- commands --- */

static void neighbouring_calls_in_one_file_share_a_command(void **state) {
  (void)state;
  assert_string_equal(written(TRACE(PROGRAM + 0xabc)), OF_VM " 0xabc\n");
  assert_string_equal(written(TRACE(LIBRARY + 0x2fff, LIBRARY + 0x10, PROGRAM + 0x3000, LIBRARY + 0x10)),
                      OF_LIBRARY " 0x2fff 0x10\n" OF_VM " 0x3000\n" OF_LIBRARY " 0x10\n");
  assert_string_equal(written(TRACE(PROGRAM, PROGRAM + 0x5fff, OTHER)),
                      OF_VM " 0x0 0x5fff\naddr2line -f -p -i -e /lib/other.so 0x0\n");
}

static void addresses_outside_what_is_loaded_are_in_no_file(void **state) {
  (void)state;
  assert_string_equal(written(TRACE(0)), OF_NOTHING " 0x0\n");
  assert_string_equal(written(TRACE(UINTPTR_MAX, PROGRAM - 1, PROGRAM + 0xfff, PROGRAM + 0x1000, PROGRAM + 0x1fff,
                                    PROGRAM + 0x2000, PROGRAM + 0x6000)),
                      OF_NOTHING " 0xffffffffffffffff 0x5554ffffffff\n" OF_VM " 0xfff\n" OF_NOTHING
                                 " 0x555500001000 0x555500001fff\n" OF_VM " 0x2000\n" OF_NOTHING " 0x555500006000\n");
}

static void a_path_with_a_special_character_is_quoted(void **state) {
  (void)state;
  machine.library = "/lib/it's a lib.so";
  assert_string_equal(written(TRACE(LIBRARY)), "addr2line -f -p -i -e '/lib/it'\\''s a lib.so' 0x0\n");
  for (int c = 1; c < 127; c++) {
    char path[] = {'/', (char)c, 'x', '\0'}, expected[64];
    bool plain = c > ' ' && strchr("!\"#$&'()*;<=>?[\\]^`{|}~", c) == NULL;
    machine.library = path;
    if (c == '\'') continue;
    snprintf(expected, sizeof expected, "addr2line -f -p -i -e %s%s%s 0x0\n", plain ? "" : "'", path, plain ? "" : "'");
    assert_string_equal(written(TRACE(LIBRARY)), expected);
  }
}

static void a_program_without_a_path_is_a_word_to_replace(void **state) {
  (void)state;
  static char path[1024];
  memset(path, 'p', sizeof path - 1);
  machine.program = NULL;
  assert_string_equal(written(TRACE(PROGRAM)), "addr2line -f -p -i -e PROGRAM 0x0\n");
  machine.program = "";
  assert_string_equal(written(TRACE(PROGRAM)), "addr2line -f -p -i -e PROGRAM 0x0\n");
  machine.program = path; /* too long for the module's buffer */
  assert_string_equal(written(TRACE(PROGRAM)), "addr2line -f -p -i -e PROGRAM 0x0\n");
  for (size_t length = 700; length < 1000; length++) {
    char expected[1100];
    path[length] = '\0';
    snprintf(expected, sizeof expected, "addr2line -f -p -i -e %s 0x0\n", path);
    if (strcmp(written(TRACE(PROGRAM)), expected) != 0)
      assert_string_equal(out.text, "addr2line -f -p -i -e PROGRAM 0x0\n");
    path[length] = 'p';
  }
  path[700] = '\0';
  assert_int_equal(strlen(written(TRACE(PROGRAM))), strlen("addr2line -f -p -i -e  0x0\n") + 700);
}

/* Before main come the program's entry point and the C library, whose calls are left out. */
static void a_trace_ends_with_main(void **state) {
  (void)state;
  static const char of_main[] = OF_VM " 0x10\n", of_entry[] = OF_VM " 0x10 0x2140\n";
  assert_string_equal(written(TRACE(PROGRAM + 0x10, LIBRARY + 1, LIBRARY + 2, ENTRY)), of_main);
  assert_string_equal(written(TRACE(PROGRAM + 0x10, LIBRARY + 1, ENTRY + 63)), of_main);
  assert_string_equal(written(TRACE(PROGRAM + 0x10, ENTRY + 64)), of_entry);
  assert_string_equal(written(TRACE(PROGRAM + 0x10, OTHER, LIBRARY + 1, ENTRY)),
                      OF_VM " 0x10\naddr2line -f -p -i -e /lib/other.so 0x0\n");
  assert_string_equal(written(TRACE(LIBRARY + 1, LIBRARY + 2, ENTRY)), OF_LIBRARY " 0x1\n");
  assert_string_equal(written(TRACE(LIBRARY + 1, ENTRY)), OF_LIBRARY " 0x1\n");
  assert_string_equal(written(TRACE(ENTRY)), OF_VM " 0x2100\n");
  assert_string_equal(written(TRACE(PROGRAM + 0x10, ENTRY - 1)), OF_VM " 0x10 0x20ff\n");
  /* the C library is a part of the program, or main was called by generated code */
  assert_string_equal(written(TRACE(PROGRAM + 0x10, PROGRAM + 0x20, ENTRY)), OF_VM " 0x10 0x20\n");
  assert_string_equal(written(TRACE(PROGRAM + 0x10, 0x20, 0x30, ENTRY)), OF_VM " 0x10\n" OF_NOTHING " 0x20 0x30\n");
}

/* --- taking --- */

/* The first address is of the function itself. Each address is in its calling instruction, so before the return. */
static void a_trace_begins_with_its_caller(void **state) {
  (void)state;
  for (machine.depth = 0; machine.depth <= 2 + BACKTRACE_MOST; machine.depth++) {
    struct {
      crd_backtrace trace;
      uintptr_t behind;
    } taken;
    memset(&taken, 0xA5, sizeof taken);
    size_t wanted = machine.depth < 2 ? 0 : (size_t)machine.depth - 1;
    if (wanted > BACKTRACE_MOST) wanted = BACKTRACE_MOST;
    crd_backtrace_take(&taken.trace);
    assert_int_equal(taken.trace.depth, wanted);
    for (size_t i = 0; i < wanted; i++) assert_int_equal(taken.trace.calls[i], 0x101 + i);
    uintptr_t behind = wanted < BACKTRACE_MOST ? taken.trace.calls[wanted] : taken.behind;
    assert_int_equal(behind, UINT64_C(0xA5A5A5A5A5A5A5A5));
  }
}

/* Every function that a signal handler will need is called once, where a first call is safe. */
static void preparing_calls_what_a_handler_will_call(void **state) {
  (void)state;
  machine.depth = -1;
  crd_backtrace_prepare();
  assert_true(machine.paths > 0 && machine.searches > 0 && machine.traces > 0);
  assert_true(out.calls > 0);
  assert_int_equal(out.length, 0);
}

/* --- writing --- */

/* A text of any length arrives whole, however much of it the system takes at once. */
static void long_traces_are_written_whole(void **state) {
  (void)state;
  static const size_t at_once[] = {SIZE_MAX, 1, 100, 255};
  crd_backtrace trace = {.depth = BACKTRACE_MOST, .calls = {0}};
  for (size_t length = 0; length < (size_t)15 * BACKTRACE_MOST; length++) {
    char expected[1024];
    size_t used = (size_t)snprintf(expected, sizeof expected, OF_NOTHING);
    trace.calls[length % BACKTRACE_MOST] = trace.calls[length % BACKTRACE_MOST] << 4 | 0xe;
    for (size_t i = 0; i < trace.depth; i++)
      used += (size_t)snprintf(expected + used, sizeof expected - used, " 0x%llx", (unsigned long long)trace.calls[i]);
    snprintf(expected + used, sizeof expected - used, "\n");
    out.at_once = at_once[length % 4];
    assert_string_equal(written(&trace), expected);
  }
}

static void a_signal_between_makes_no_difference(void **state) {
  (void)state;
  out.failure = -1;
  out.error = EINTR;
  out.fail_from = 1;
  out.fail_to = 3;
  assert_string_equal(written(TRACE(PROGRAM)), OF_VM " 0x0\n");
  assert_int_equal(out.calls, 4);
}

/* What a refused write had to say is lost, and what follows is still tried. */
static void refused_words_are_lost_in_silence(void **state) {
  (void)state;
  static const struct {
    ssize_t result;
    int error;
  } refusals[] = {{-1, EIO}, {0, EINTR}};
  crd_backtrace trace = {.depth = BACKTRACE_MOST, .calls = {0}};
  for (size_t i = 0; i < trace.depth; i++) trace.calls[i] = UINT64_C(0x123456789abcde00) + i;
  reset(state);
  char whole[2048];
  strcpy(whole, written(&trace));
  unsigned calls = out.calls;
  assert_true(calls >= 2);
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
    reset(state);
    out.failure = refusals[i].result;
    out.error = refusals[i].error;
    out.fail_from = out.fail_to = 1;
    assert_string_equal(written(&trace), whole + WRITE_MAX_BYTES);
    assert_int_equal(out.calls, calls);
  }
}

#else

static int reset_machine(void **state) {
  return reset(state);
}

#endif

/* --- in every system --- */

static void an_empty_trace_says_so(void **state) {
  (void)state;
  crd_backtrace trace = {.depth = 0};
  assert_string_equal(written(&trace),
                      "cradle: the calls are not known: the C library has no backtrace(), or it found none\n");
}

#define TEST(name) cmocka_unit_test_setup(name, reset_machine)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(an_empty_trace_says_so),
#ifdef __GLIBC__
      TEST(neighbouring_calls_in_one_file_share_a_command),
      TEST(addresses_outside_what_is_loaded_are_in_no_file),
      TEST(a_path_with_a_special_character_is_quoted),
      TEST(a_program_without_a_path_is_a_word_to_replace),
      TEST(a_trace_ends_with_main),
      TEST(a_trace_begins_with_its_caller),
      TEST(preparing_calls_what_a_handler_will_call),
      TEST(long_traces_are_written_whole),
      TEST(a_signal_between_makes_no_difference),
      TEST(refused_words_are_lost_in_silence),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
