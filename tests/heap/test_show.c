/* Tests how messages show names that the program chose: they may hold control characters and have any length. */
#include "tests/support/heap_fixture.h"

#include "runtime/report.h"
#include "tests/inside.h"

static void shows(const char *text, const char *expected) {
  char out[40];
  size_t length = crd_show_text(out, sizeof out, text, strlen(text));
  assert_string_equal(out, expected);
  assert_int_equal(length, strlen(expected));
}

static void control_characters_are_hidden(void **state) {
  (void)state;
  shows("", "");
  shows("plain", "plain");
  shows("\x1b[2Jgone\r\n\t\x7f", "?[2Jgone????");
  shows("\xc2\x9b"
        "31m",
        "??31m"); /* CSI as a character of two bytes */
  shows("\x9b"
        "31m",
        "?31m"); /* CSI as a single byte */
  shows("a\x80\xbf"
        "b",
        "a??b"); /* bytes that cannot begin a character */
  shows("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xc2\xa0", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xc2\xa0");
}

/* The first and the last character of each length, and what lies just beside them. */
static void only_whole_characters_are_shown(void **state) {
  (void)state;
  static const char *const characters[] = {" ",
                                           "~",
                                           "\xc2\xa0",
                                           "\xdf\xbf",
                                           "\xe0\xa0\x80",
                                           "\xe0\xa4\x85",
                                           "\xec\xbf\xbf",
                                           "\xed\x80\x80",
                                           "\xed\x9f\xbf",
                                           "\xee\x80\x80",
                                           "\xef\xbf\xbf",
                                           "\xf0\x90\x80\x80",
                                           "\xf1\x80\x80\x80",
                                           "\xf3\xbf\xbf\xbf",
                                           "\xf4\x8f\xbf\xbf"};
  static const char *const others[] = {"\x1f",
                                       "\x7f",
                                       "\x80",
                                       "\xbf",
                                       "\xff",
                                       "\xc0\x9b",
                                       "\xc1\xbf",
                                       "\xc2\x80",
                                       "\xc2\x9f",
                                       "\xe0\x9f\xbf",
                                       "\xed\xa0\x80",
                                       "\xf0\x8f\xbf\xbf",
                                       "\xf4\x90\x80\x80",
                                       "\xf5\x80\x80\x80",
                                       "\xf8\x88\x80\x80"};
  for (size_t i = 0; i < sizeof characters / sizeof *characters; i++) {
    char twice[16], cut[16], hidden[16];
    size_t length = strlen(characters[i]);
    snprintf(twice, sizeof twice, "%s%s", characters[i], characters[i]);
    shows(twice, twice);
    /* without its end, at the end of the text and before another character */
    if (length == 1) continue;
    memset(hidden, '?', sizeof hidden);
    hidden[length - 1] = '\0';
    assert_int_equal(crd_show_text(cut, sizeof cut, characters[i], length - 1), length - 1);
    assert_string_equal(cut, hidden);
    assert_int_equal(crd_show_text(cut, sizeof cut, twice, 2 * length - 1), 2 * length - 1);
    assert_memory_equal(cut, twice, length);
    assert_string_equal(cut + length, hidden);
    snprintf(twice, sizeof twice, "%.*sx", (int)length - 1, characters[i]);
    snprintf(hidden + length - 1, sizeof hidden - length + 1, "x");
    shows(twice, hidden);
  }
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) shows(others[i], &"????"[4 - strlen(others[i])]);
}

static void a_zero_byte_is_hidden(void **state) {
  char out[8];
  (void)state;
  assert_int_equal(crd_show_text(out, sizeof out, "a\0b", 3), 3);
  assert_string_equal(out, "a?b");
}

static void a_long_text_is_cut_at_a_character(void **state) {
  char out[9];
  (void)state;
  (void)crd_show_text(out, sizeof out, "12345678", 8);
  assert_string_equal(out, "12345678");
  (void)crd_show_text(out, sizeof out, "123456789", 9);
  assert_string_equal(out, "12345...");
  (void)crd_show_text(out, sizeof out,
                      "1234\xe2\x82\xac"
                      "89",
                      9);
  assert_string_equal(out, "1234...");
  /* with room for no character, or in the midst of bytes that are none */
  (void)crd_show_text(out, 5, "\xc3\xa9\xc3\xa9\xc3\xa9", 6);
  assert_string_equal(out, "...");
  (void)crd_show_text(out, 5, "\x80\x80\x80\x80\x80\x80", 6);
  assert_string_equal(out, "...");
  memset(out, 'x', sizeof out);
  assert_int_equal(crd_show_text(out, 5, "123456", 6), 4);
  assert_string_equal(out, "1...");
  assert_int_equal(out[5], 'x'); /* behind its room */
  for (size_t room = 5; room <= sizeof out; room++) {
    memset(out, 'x', sizeof out);
    assert_true(crd_show_text(out, room, "\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80", 12) < room);
  }
}

static void a_text_may_be_shown_in_its_place(void **state) {
  char text[] = "a\x1b[0mb\xc2\x85";
  (void)state;
  (void)crd_show_text(text, sizeof text, text, strlen(text));
  assert_string_equal(text, "a?[0mb??");
}

/* --- messages that contain names --- */

static char bad_name[70001];

static int make_name(void **state) {
  (void)state;
  memset(bad_name, 'n', sizeof bad_name - 1);
  memcpy(bad_name, "\x1b[2J\n", 5);
  return 0;
}

/* [text.3] */
static void is_fit_to_show(const char *message) {
  for (const char *at = message; *at != '\0'; at++)
    if ((unsigned char)*at < 0x20 || *at == 0x7f) fail_msg("a control character at %zu", (size_t)(at - message));
  assert_non_null(strstr(message, "?[2J?nnn"));
}

static void a_type_that_is_refused(void **state) {
  (void)state;
  cradle_type type = {.name = bad_name, .size = 3};
  cradle_options options;
  cradle_error error;
  cradle_options_init(&options);
  options.types = &type, options.type_count = 1;
  assert_null(cradle_heap_new(&options, &error));
  is_fit_to_show(error.message);
  assert_non_null(strstr(error.message, "...): ")); /* the reason still fits */
  type.name = NULL;
  assert_null(cradle_heap_new(&options, &error));
  assert_non_null(strstr(error.message, "types[0] (without a name): "));
}

static void a_type_in_a_misuse(void **state) {
  (void)state;
  fixture f = {.heap = NULL};
  cradle_options options;
  cradle_type type = {.name = bad_name, .size = 3};
  fixture_options(&f, &options);
  fixture_open_with(&f, &options);
  if (FIXTURE_LANDS(&f)) {
    uint32_t id = cradle_type_add(f.heap, &type);
    fail_msg("not refused, but type %u", id);
  }
  is_fit_to_show(f.message);
  assert_non_null(strstr(f.message, "...): "));
  type.size = 32;
  uint32_t id = cradle_type_add(f.heap, &type);
  is_fit_to_show(crd_name_type(&f.heap->space, id).buffer);
  assert_int_equal(strlen(crd_name_type(&f.heap->space, id).buffer), strlen("type 4 ()") + 99);
  fixture_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(control_characters_are_hidden),
      cmocka_unit_test(only_whole_characters_are_shown),
      cmocka_unit_test(a_zero_byte_is_hidden),
      cmocka_unit_test(a_long_text_is_cut_at_a_character),
      cmocka_unit_test(a_text_may_be_shown_in_its_place),
      cmocka_unit_test(a_type_that_is_refused),
      cmocka_unit_test(a_type_in_a_misuse),
  };
  return cmocka_run_group_tests(tests, make_name, NULL);
}
