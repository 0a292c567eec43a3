/* Value encodings: references are followed and updated, immediates and tag bits are kept to the bit. */
#include "tests/support/heap_fixture.h"

#include "tests/inside.h"

typedef uint64_t (*box_function)(const void *object);

typedef struct layout {
  const char *name;
  cradle_encoding encoding;
  box_function box[4];     /* ways to make a reference with its tag or type */
  uint64_t immediates[12]; /* words that must never be taken for references */
  size_t immediate_count;
} layout;

/* --- the layouts of known virtual machines --- */

static uint64_t box_plain(const void *object) {
  return (uint64_t)(uintptr_t)object;
}
static uint64_t box_tag_3(const void *object) {
  return (uint64_t)(uintptr_t)object | 3;
}
static uint64_t box_tag_6(const void *object) {
  return (uint64_t)(uintptr_t)object | 6;
}
/* clox: quiet NaN and sign bit */
#define CLOX_QNAN UINT64_C(0x7ffc000000000000)
#define CLOX_SIGN UINT64_C(0x8000000000000000)
static uint64_t box_clox(const void *object) {
  return CLOX_SIGN | CLOX_QNAN | (uint64_t)(uintptr_t)object;
}
/* LuaJIT GC64: 17 bits of type above 47 of address; strings (~4) to userdata (~12) are objects */
static uint64_t box_luajit(const void *object, uint64_t type) {
  return (~type << 47) | (uint64_t)(uintptr_t)object;
}
static uint64_t box_luajit_string(const void *object) {
  return box_luajit(object, 4);
}
static uint64_t box_luajit_function(const void *object) {
  return box_luajit(object, 8);
}
static uint64_t box_luajit_userdata(const void *object) {
  return box_luajit(object, 12);
}

#define DOUBLE_ONE UINT64_C(0x3ff0000000000000)
#define DENORMAL UINT64_C(0x0000000000000001)
#define INFINITE UINT64_C(0x7ff0000000000000)

static void known_layouts(layout *layouts) {
  layouts[0] = (layout){"plain", plain_encoding(), {box_plain}, {0}, 1};
  layouts[1] = (layout){"tag 0", cradle_encoding_of(0, 0, 0x01), {box_plain}, {0, 1, 0x7fff3, ~UINT64_C(0), 0xe}, 5};
  layouts[2] = (layout){"tag 3", cradle_encoding_of(0, 0, 0x08), {box_tag_3}, {0, 3, 8, 0x7fff8, DOUBLE_ONE | 1}, 5};
  layouts[3] = (layout){"tags 0, 3, 6",
                        cradle_encoding_of(0, 0, 0x49),
                        {box_plain, box_tag_3, box_tag_6},
                        {0, 3, 6, 1, 0x7fff2, ~UINT64_C(0)},
                        6};
  layouts[4] = (layout){"clox",
                        cradle_encoding_of(CLOX_SIGN | CLOX_QNAN, CLOX_SIGN | CLOX_QNAN, 1 << 0),
                        {box_clox},
                        {0, CLOX_QNAN | 1, CLOX_QNAN | 2, CLOX_QNAN | 3, DOUBLE_ONE, DENORMAL, INFINITE,
                         CLOX_SIGN | DOUBLE_ONE, CLOX_SIGN | INFINITE, UINT64_C(0x7ff8000000000000)},
                        10};
  /* JavaScriptCore: cells have neither the number tag (the upper 15 bits) nor the other tag (2) */
  layouts[5] = (layout){
      "JavaScriptCore",
      cradle_encoding_of(UINT64_C(0xfffe000000000002), 0, 1 << 0),
      {box_plain},
      {0, 2, 6, 7, 0xa, UINT64_C(0xfffe000000000001), DOUBLE_ONE + (UINT64_C(1) << 49), INFINITE + (UINT64_C(1) << 49)},
      8};
  layouts[6] = (layout){"LuaJIT",
                        {.pairs = {{UINT64_C(0x1ffff) << 47, UINT64_C(0x1fff3) << 47},  /* ~12 */
                                   {UINT64_C(0x1fffc) << 47, UINT64_C(0x1fff4) << 47},  /* ~11 .. ~8 */
                                   {UINT64_C(0x1fffc) << 47, UINT64_C(0x1fff8) << 47}}, /* ~7 .. ~4 */
                         .pair_count = 3,
                         .tag_set = 0x01,
                         .payload_mask = (UINT64_C(1) << 47) - 1},
                        {box_luajit_string, box_luajit_function, box_luajit_userdata},
                        {0, ~UINT64_C(0), ~UINT64_C(1) << 47, ~UINT64_C(2) << 47, (~UINT64_C(3) << 47) | 0x1000,
                         (~UINT64_C(13) << 47) | 8, DOUBLE_ONE, DENORMAL, CLOX_SIGN | DOUBLE_ONE},
                        9};
}
enum { LAYOUTS = 7 };

/* --- the test --- */

/* Immediates that would be the addresses of young objects but for their tag, in a layout whose only tag of references
 * is 0. */
static void tagged_words_that_look_like_addresses(void **state) {
  (void)state;
  fixture f;
  cradle_options options;
  fixture_options(&f, &options);
  options.encoding = cradle_encoding_of(0, 0, 0x01);
  fixture_open_with(&f, &options);
  values *holder = cradle_new_array(f.m, T_VALUES, 8);
  uint64_t words[8];
  cradle_push(f.m, holder);
  for (unsigned tag = 1; tag < 8; tag++) {
    words[tag] = (uint64_t)(uintptr_t)cradle_new_array(f.m, T_STRING, 8) | tag;
    holder = (values *)(uintptr_t)*cradle_peek(f.m, 0);
    cradle_store_value(f.m, holder, &holder->item[tag], words[tag]);
  }
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  holder = cradle_pop(f.m);
  for (unsigned tag = 1; tag < 8; tag++) assert_int_equal(holder->item[tag], words[tag]);
  fixture_close(&f);
}

static uint64_t address_in(const layout *l, uint64_t value) {
  return value & l->encoding.payload_mask;
}

static void fill(fixture *f, const layout *l, values *holder) {
  size_t ways = 0;
  while (ways < 4 && l->box[ways] != NULL) ways++;
  CRADLE_ROOT(f->m, holder);
  for (size_t i = 0; i < l->immediate_count; i++) cradle_store_value(f->m, holder, &holder->item[i], l->immediates[i]);
  for (size_t i = 0; i < ways; i++) {
    string *text = cradle_new_array(f->m, T_STRING, 8 + i);
    text->byte[0] = (char)('a' + i);
    cradle_store_value(f->m, holder, &holder->item[l->immediate_count + i], l->box[i](text));
  }
}

static void check(const layout *l, const values *holder) {
  for (size_t i = 0; i < l->immediate_count; i++)
    if (holder->item[i] != l->immediates[i]) fail_msg("%s: immediate %zu changed", l->name, i);
  for (size_t i = 0; i < 4 && l->box[i] != NULL; i++) {
    uint64_t value = holder->item[l->immediate_count + i];
    const string *text = (const string *)(uintptr_t)(address_in(l, value) & ~UINT64_C(7));
    if (value != l->box[i](text)) fail_msg("%s: tag bits changed", l->name);
    if (cradle_type_of(text) != T_STRING || text->length != 8 + i || text->byte[0] != (char)('a' + i))
      fail_msg("%s: reference %zu leads elsewhere", l->name, i);
  }
}

static void collect_and_check(fixture *f, const layout *l) {
  uint64_t rooted = l->box[0](cradle_new_array(f->m, T_VALUES, 16));
  CRADLE_ROOT_VALUE(f->m, rooted);
  for (int round = 0; round < 4; round++) {
    fill(f, l, (values *)(uintptr_t)(address_in(l, rooted) & ~UINT64_C(7)));
    for (size_t i = 0; i < l->immediate_count; i++) cradle_push_word(f->m, l->immediates[i]);
    cradle_collect(f->m, CRADLE_COLLECT_MINOR);
    if (round % 2) cradle_collect(f->m, CRADLE_COLLECT_FULL);
    for (size_t i = l->immediate_count; i-- > 0;)
      assert_int_equal((cradle_word)(uintptr_t)cradle_pop(f->m), l->immediates[i]);
    check(l, (const values *)(uintptr_t)(address_in(l, rooted) & ~UINT64_C(7)));
  }
  assert_true(fixture_stats(f).moved_objects >= 4);
}

static void run_layout(const layout *l, uint64_t stress) {
  fixture f;
  cradle_options options;
  fixture_options(&f, &options);
  options.encoding = l->encoding;
  options.stress_period = stress;
  options.stress_major = 0;
  options.shadow_stack = CRADLE_KIND_VALUE;
  fixture_open_with(&f, &options);
  collect_and_check(&f, l);
  fixture_close(&f);
}

static void layouts_of_known_machines(void **state) {
  (void)state;
  layout layouts[LAYOUTS];
  known_layouts(layouts);
  for (size_t i = 0; i < LAYOUTS; i++) {
    run_layout(&layouts[i], 0);
    run_layout(&layouts[i], 1);
  }
}

enum { LARGE_BYTES = 100000 };

static uint64_t new_large(fixture *f, const layout *l, size_t way, char byte) {
  string *text = cradle_new_array(f->m, T_STRING, LARGE_BYTES);
  memset(text->byte, byte, LARGE_BYTES);
  return l->box[way](text);
}

static void check_large(const layout *l, uint64_t value, char byte) {
  const string *text = (const string *)(uintptr_t)(address_in(l, value) & ~UINT64_C(7));
  if (cradle_type_of(text) != T_STRING || text->length != LARGE_BYTES || text->byte[0] != byte ||
      text->byte[LARGE_BYTES - 1] != byte)
    fail_msg("%s: a large object that only a value refers to is gone", l->name);
}

/* Large young objects lie outside of the nursery: one that an item refers to, and one on the stack. */
static void large_objects_of(fixture *f, const layout *l, size_t way) {
  values *holder = cradle_new_array(f->m, T_VALUES, 1);
  {
    CRADLE_ROOT(f->m, holder);
    uint64_t item = new_large(f, l, way, 'i');
    cradle_store_value(f->m, holder, &holder->item[0], item);
    cradle_push_word(f->m, new_large(f, l, way, 's'));
    for (int round = 0; round < 2; round++) {
      cradle_collect(f->m, CRADLE_COLLECT_MINOR);
      for (int i = 0; i < 8; i++) new_large(f, l, way, '-'); /* where what was freed lay */
      check_large(l, holder->item[0], 'i');
      check_large(l, *cradle_peek(f->m, 0), 's');
    }
    (void)cradle_pop(f->m);
  }
}

/* --- what is loaded while a major collection marks --- */

enum { CHAIN = 1000 }; /* an increment does not come to its end */

static values *last_of_chain(const layout *l, uint64_t first) {
  uint64_t value = first;
  for (int i = 0; i < CHAIN; i++) value = ((values *)(uintptr_t)(address_in(l, value) & ~UINT64_C(7)))->item[0];
  return (values *)(uintptr_t)(address_in(l, value) & ~UINT64_C(7));
}

/* The end of a chain, which marking has not come to, is moved from its item to the stack, which marking has looked
 * at. */
static void taken_while_marking(fixture *f, const layout *l) {
  cradle_push_word(f->m, new_large(f, l, 0, 'e'));
  for (int i = 0; i <= CHAIN; i++) {
    values *holder = cradle_new_array(f->m, T_VALUES, 1);
    holder->item[0] = *cradle_peek(f->m, 0);
    *cradle_peek(f->m, 0) = l->box[0](holder);
  }
  cradle_collect(f->m, CRADLE_COLLECT_FULL);
  while (fixture_stats(f).phase != CRADLE_PHASE_MARKING) (void)cradle_collect_step(f->m, 0);
  values *last = last_of_chain(l, *cradle_peek(f->m, 0));
  cradle_push_word(f->m, last->item[0]);
  cradle_store_value(f->m, last, &last->item[0], 0);
  while (!cradle_collect_step(f->m, 0)) continue;
  for (int i = 0; i < 8; i++) new_large(f, l, 0, '-');
  check_large(l, (cradle_word)(uintptr_t)cradle_pop(f->m), 'e');
  (void)cradle_pop(f->m);
}

static void old_and_large_objects_that_only_values_refer_to(void **state) {
  (void)state;
  layout layouts[LAYOUTS];
  known_layouts(layouts);
  for (size_t i = 0; i < LAYOUTS; i++) {
    fixture f;
    cradle_options options;
    fixture_options(&f, &options);
    options.encoding = layouts[i].encoding;
    options.shadow_stack = CRADLE_KIND_VALUE;
    fixture_open_with(&f, &options);
    for (size_t way = 0; way < 4 && layouts[i].box[way] != NULL; way++) large_objects_of(&f, &layouts[i], way);
    taken_while_marking(&f, &layouts[i]);
    fixture_close(&f);
  }
}

/* Plain words are traced without consulting the encoding, so only the plain encoding may count as plain. */
static void only_plain_is_plain(void **state) {
  (void)state;
  cradle_encoding encoding = plain_encoding();
  assert_true(crd_encoding_is_plain(&encoding));
  encoding.pair_count = 2;
  assert_false(crd_encoding_is_plain(&encoding));
  encoding = plain_encoding();
  encoding.pairs[0].mask = 1;
  assert_false(crd_encoding_is_plain(&encoding));
  encoding = plain_encoding();
  encoding.tag_set = 0x03;
  assert_false(crd_encoding_is_plain(&encoding));
  encoding = cradle_encoding_of(0, 0, 0x01);
  assert_false(crd_encoding_is_plain(&encoding));
}

static void constructors_leave_out_what_is_no_address(void **state) {
  (void)state;
  assert_true(plain_encoding().payload_mask == ~UINT64_C(0));
  assert_true(cradle_encoding_of(0, 0, 0x08).payload_mask == ~UINT64_C(7));
  cradle_encoding boxing = cradle_encoding_of(UINT64_C(0xfffe000000000002), UINT64_C(0x8000000000000000), 1 << 0);
  assert_true(boxing.payload_mask == UINT64_C(0x0001fffffffffff8));
  assert_true(boxing.pairs[0].mask == UINT64_C(0xfffe000000000002) &&
              boxing.pairs[0].pattern == UINT64_C(0x8000000000000000));
}

/* Bits 3 to 46 are the address: no mask may cover one, the payload must have each. */
static void every_address_bit_is_guarded(void **state) {
  (void)state;
  for (unsigned bit = 0; bit < 64; bit++) {
    bool in_address = bit >= 3 && bit <= 46;
    cradle_encoding encoding = cradle_encoding_of(UINT64_C(1) << bit, 0, 1 << 0);
    encoding.payload_mask = UINT64_C(0x00007ffffffffff8);
    const char *fault = crd_encoding_fault(&encoding);
    assert_true(in_address ? fault != NULL && strstr(fault, "a mask covers address bits") != NULL : fault == NULL);
    encoding = cradle_encoding_of(0, 0, 0x01);
    encoding.payload_mask &= ~(UINT64_C(1) << bit);
    fault = crd_encoding_fault(&encoding);
    assert_true(in_address ? fault != NULL && strstr(fault, "payload_mask must have bits 3 to 46 set") != NULL
                           : fault == NULL);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(only_plain_is_plain),
                                     cmocka_unit_test(constructors_leave_out_what_is_no_address),
                                     cmocka_unit_test(every_address_bit_is_guarded),
                                     cmocka_unit_test(layouts_of_known_machines),
                                     cmocka_unit_test(old_and_large_objects_that_only_values_refer_to),
                                     cmocka_unit_test(tagged_words_that_look_like_addresses)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
