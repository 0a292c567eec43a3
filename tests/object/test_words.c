/* Tests the words of objects: headers, slot entries and encodings of values. */
#include "tests/support/heap_fixture.h"

#include "tests/inside.h"

/* --- headers --- */

/* The header bits that generated code knows are where the public headers say; the private bits are between them. */
static void each_flag_has_its_bit(void **state) {
  (void)state;
  static const struct {
    uint64_t flag;
    int bit;
    bool (*has)(uint64_t header);
  } flags[] = {{HEADER_BARRIER_FLAG, 8 * CRADLE_BARRIER_OFFSET, header_has_barrier},
               {HEADER_SLOTS_FLAG, 33, header_records_one_kind},
               {HEADER_VALUES_FLAG, 34, header_holds_values},
               {HEADER_WATCHED_FLAG, 35, header_is_watched},
               {HEADER_WEAK_FLAG, 36, header_is_weak},
               {HEADER_PINNED_FLAG, CRADLE_PINNED_BIT, header_is_pinned},
               {HEADER_ID_FLAG, 38, header_has_id},
               {HEADER_HASH & -HEADER_HASH, CRADLE_HASH_SHIFT, header_has_hash},
               {HEADER_FORWARDED, 63, header_is_forwarded}};
  enum { FLAGS = sizeof flags / sizeof *flags };
  for (size_t i = 0; i < FLAGS; i++) {
    uint64_t header = UINT32_MAX | flags[i].flag;
    assert_int_equal(flags[i].flag, UINT64_C(1) << flags[i].bit);
    assert_int_equal(header_type(header), UINT32_MAX);
    assert_int_equal(header_flags(header), flags[i].flag);
    for (size_t k = 0; k < FLAGS; k++) assert_int_equal(flags[k].has(header), i == k);
  }
  for (uint8_t recording = RECORDING_OBJECT; recording <= RECORDING_VALUES; recording++) {
    uint64_t header = header_recording(recording);
    assert_int_equal(header_array_flags(header), header);
    assert_int_equal(header_records_slots(header), recording != RECORDING_OBJECT);
    assert_int_equal(header_records_structures(header), recording == RECORDING_STRUCTURES);
  }
  uint8_t bytes[8];
  uint64_t barrier = HEADER_BARRIER_FLAG;
  memcpy(bytes, &barrier, sizeof bytes);
  assert_int_equal(bytes[CRADLE_BARRIER_OFFSET], CRADLE_BARRIER_MASK);
  assert_int_equal(HEADER_OLD_FLAGS | HEADER_FORWARDED | UINT32_MAX, UINT64_MAX); /* every bit is somebody's */
  assert_int_equal(HEADER_OLD_FLAGS & HEADER_FORWARDED, 0);
}

static void a_change_of_a_header_leaves_the_rest(void **state) {
  (void)state;
  static const uint64_t flags[] = {HEADER_BARRIER_FLAG, HEADER_WATCHED_FLAG, HEADER_WEAK_FLAG, HEADER_PINNED_FLAG,
                                   HEADER_ID_FLAG};
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    cradle_word header = 77;
    object_set_flags(&header, flags[i]);
    assert_int_equal(header, 77 | flags[i]);
    header = 77 | HEADER_OLD_FLAGS;
    object_clear_flags(&header, flags[i]);
    assert_int_equal(header, (77 | HEADER_OLD_FLAGS) & ~flags[i]);
  }
  cradle_word header = 77 | HEADER_OLD_FLAGS;
  object_clear_flags(&header, HEADER_HASH);
  object_set_hash(&header, 0xabcdef);
  assert_int_equal(header >> CRADLE_HASH_SHIFT & CRADLE_HASH_MASK, 0xabcdef);
  assert_int_equal(header & ~HEADER_HASH, 77 | (HEADER_OLD_FLAGS & ~HEADER_HASH));
}

static void a_header_tells_where_its_object_is(void **state) {
  (void)state;
  cradle_word place[2] = {0}, object[2] = {5 | HEADER_BARRIER_FLAG | HEADER_ID_FLAG};
  object_forward(object, place);
  assert_true(header_is_forwarded(object[0]));
  assert_ptr_equal(object_at(header_forwarded_to(object[0])), place);
  /* an open header keeps what is below the place */
  cradle_word open = 5 | HEADER_OLD_FLAGS;
  object_open(&open, HEADER_OPEN_PLACES - 1);
  assert_true(header_is_open(open));
  assert_int_equal(header_open_place(open), HEADER_OPEN_PLACES - 1);
  assert_int_equal(header_type(open), 5);
  assert_true(header_has_barrier(open) && header_is_watched(open));
  open = 5 | HEADER_OLD_FLAGS;
  object_open(&open, 0);
  assert_int_equal(header_open_place(open), 0);
}

static void assert_refused(cradle_heap *heap, void *object, uint64_t flag) {
  cradle_error error;
  cradle_word *header = object;
  assert_true(cradle_heap_verify(heap, &error));
  *header ^= flag;
  assert_false(cradle_heap_verify(heap, &error));
  assert_non_null(strstr(error.message, "broken header"));
  *header ^= flag;
}

/* [header.1], [header.2] */
static void the_verifier_knows_which_flags_an_object_can_have(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f);
  fixture_skip_stressed(&f, "its collections would meet the broken headers first");
  {
    pair *old = cradle_new(f.m, T_PAIR, sizeof(pair));
    CRADLE_ROOT(f.m, old);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    pair *young = cradle_new(f.m, T_PAIR, sizeof(pair));
    CRADLE_ROOT(f.m, young);
    for (int bit = 32; bit < CRADLE_HASH_SHIFT; bit++) {
      uint64_t flag = UINT64_C(1) << bit;
      if (flag != HEADER_ID_FLAG) assert_refused(f.heap, young, flag);
    }
    assert_refused(f.heap, young, HEADER_FORWARDED);
    assert_refused(f.heap, old, HEADER_FORWARDED);
    assert_refused(f.heap, old, HEADER_WEAK_FLAG); /* of a type without weak slots */
    assert_refused(f.heap, old, HEADER_SLOTS_FLAG);
    (void)cradle_identity_hash(f.m, young);
    (void)cradle_id(f.m, young);
    assert_true(cradle_heap_verify(f.heap, NULL));
  }
  fixture_close(&f);
}

/* --- slot entries --- */

static void an_entry_of_a_slot_tells_the_slot_and_its_kind(void **state) {
  (void)state;
  cradle_word slot = 0; /* [value.2] */
  assert_false(slot_entry_holds_value(slot_entry(&slot, false)));
  assert_true(slot_entry_holds_value(slot_entry(&slot, true)));
  assert_ptr_equal(slot_of_entry(slot_entry(&slot, false)), &slot);
  assert_ptr_equal(slot_of_entry(slot_entry(&slot, true)), &slot);
}

/* [value.1] */
static void an_encoding_that_cannot_hold_an_address_is_refused(void **state) {
  (void)state;
  cradle_encoding encoding = cradle_encoding_of(0, 0, 0x02);
  assert_null(crd_encoding_fault(&encoding));
  assert_int_equal(value_moved(&encoding, 0x1001, 0x2000), 0x2001);
  encoding.payload_mask &= ~(UINT64_C(1) << 46);
  assert_non_null(strstr(crd_encoding_fault(&encoding), "payload_mask must have bits 3 to 46"));
}

static cradle_encoding with_pairs(uint32_t count, uint64_t mask, uint64_t pattern) {
  cradle_encoding encoding = cradle_encoding_of(0, 0, 0x01);
  encoding.payload_mask = UINT64_C(0x00007ffffffffff8);
  encoding.pair_count = count;
  for (uint32_t i = 0; i < CRADLE_ENCODING_PAIRS_MAX; i++) {
    encoding.pairs[i].mask = mask;
    encoding.pairs[i].pattern = pattern;
  }
  return encoding;
}

static void assert_encoding(const cradle_encoding *encoding, const char *fault) {
  const char *told = crd_encoding_fault(encoding);
  if (fault == NULL && told != NULL) fail_msg("refused: %s", told);
  if (fault != NULL && (told == NULL || strstr(told, fault) == NULL)) fail_msg("not refused: %s", fault);
}

static void the_bounds_of_an_encoding_are_exact(void **state) {
  (void)state;
  static const char count[] = "pair_count must be 1 to 4", tags[] = "tag_set and a pattern exclude each other";
  cradle_encoding encoding = cradle_encoding_of(0, 0, 0);
  assert_encoding(&encoding, "tag_set is empty");
  for (uint32_t pairs = 0; pairs <= CRADLE_ENCODING_PAIRS_MAX + 1; pairs++) {
    encoding = with_pairs(pairs, 0, 0);
    assert_encoding(&encoding, pairs == 0 || pairs == CRADLE_ENCODING_PAIRS_MAX + 1 ? count : NULL);
    if (pairs == 0 || pairs > CRADLE_ENCODING_PAIRS_MAX) continue;
    /* the last of the pairs is looked at, and none behind it */
    encoding.pairs[pairs - 1].pattern = 8;
    assert_encoding(&encoding, "a pattern has bits outside its mask");
    if (pairs == CRADLE_ENCODING_PAIRS_MAX) continue;
    encoding = with_pairs(pairs, 0, 0);
    encoding.pairs[pairs].pattern = 8;
    assert_encoding(&encoding, NULL);
  }
  for (int bit = 0; bit < 64; bit++) {
    uint64_t mask = UINT64_C(1) << bit;
    encoding = with_pairs(1, mask, 0);
    assert_encoding(&encoding, bit >= 3 && bit <= 46 ? "a mask covers address bits" : NULL);
    encoding = with_pairs(1, mask, mask);
    assert_encoding(&encoding, bit < 3 ? tags : bit <= 46 ? "a mask covers address bits" : NULL);
    encoding = with_pairs(1, 0, 0);
    encoding.payload_mask &= ~mask;
    assert_encoding(&encoding, bit >= 3 && bit <= 46 ? "payload_mask must have bits 3 to 46" : NULL);
  }
  encoding = with_pairs(1, UINT64_C(1) << 47, 0);
  encoding.payload_mask |= UINT64_C(1) << 47;
  assert_encoding(&encoding, "payload_mask and a mask overlap");
  /* each tag alone, and a pattern that asks for it or for another one */
  for (unsigned tag = 0; tag < 8; tag++)
    for (unsigned other = 0; other < 8; other++) {
      encoding = with_pairs(1, 7, other);
      encoding.tag_set = (uint8_t)(1u << tag);
      assert_encoding(&encoding, tag == other ? NULL : tags);
    }
  encoding = cradle_encoding_of(0, 0, 0x02);
  encoding.payload_mask |= 1;
  assert_encoding(&encoding, "payload_mask must leave out the tag bits");
  encoding.tag_set = 0x01;
  assert_encoding(&encoding, NULL);
}

static void a_value_is_a_reference_by_its_pattern_tag_and_payload(void **state) {
  (void)state;
  const uint64_t boxed = UINT64_C(0xfffc000000000000), address = 0x12345678;
  cradle_encoding encoding = cradle_encoding_of(boxed, boxed, 1 << 0);
  assert_int_equal(encoding.pair_count, 1);
  assert_true(value_is_reference(&encoding, boxed | address));
  assert_int_equal(value_address(&encoding, boxed | address), address);
  assert_false(value_is_reference(&encoding, boxed));
  assert_false(value_is_reference(&encoding, 0));
  assert_false(value_is_reference(&encoding, address));
  for (int bit = 50; bit < 64; bit++)
    assert_false(value_is_reference(&encoding, (boxed | address) ^ UINT64_C(1) << bit));
  for (uint64_t tag = 1; tag < 8; tag++) assert_false(value_is_reference(&encoding, boxed | address | tag));
  encoding = cradle_encoding_of(0, 0, 0x29);
  assert_int_equal(encoding.pair_count, 1);
  for (uint64_t tag = 0; tag < 8; tag++) {
    assert_int_equal(value_is_reference(&encoding, address | tag), tag == 0 || tag == 3 || tag == 5);
    assert_false(value_is_reference(&encoding, tag));
  }
  encoding = with_pairs(2, 0, 0);
  for (uint32_t i = 0; i < 3; i++) {
    encoding.pairs[i].mask = UINT64_C(7) << 48;
    encoding.pairs[i].pattern = (uint64_t)(i + 1) << 48;
  }
  for (uint64_t pattern = 0; pattern < 8; pattern++)
    assert_int_equal(value_is_reference(&encoding, pattern << 48 | address), pattern == 1 || pattern == 2);
}

static void an_encoding_is_plain_only_without_tags_and_patterns(void **state) {
  (void)state;
  cradle_encoding plain = crd_encoding_plain(), other;
  assert_true(crd_encoding_is_plain(&plain));
  assert_encoding(&plain, NULL);
  other = plain, other.pair_count = 2;
  assert_false(crd_encoding_is_plain(&other));
  other = plain, other.pairs[0].mask = UINT64_C(1) << 63;
  assert_false(crd_encoding_is_plain(&other));
  other = plain, other.tag_set = 0x03;
  assert_false(crd_encoding_is_plain(&other));
  other = plain, other.payload_mask = ~UINT64_C(7);
  assert_false(crd_encoding_is_plain(&other));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_flag_has_its_bit),
      cmocka_unit_test(a_change_of_a_header_leaves_the_rest),
      cmocka_unit_test(a_header_tells_where_its_object_is),
      cmocka_unit_test(the_verifier_knows_which_flags_an_object_can_have),
      cmocka_unit_test(an_entry_of_a_slot_tells_the_slot_and_its_kind),
      cmocka_unit_test(an_encoding_that_cannot_hold_an_address_is_refused),
      cmocka_unit_test(the_bounds_of_an_encoding_are_exact),
      cmocka_unit_test(a_value_is_a_reference_by_its_pattern_tag_and_payload),
      cmocka_unit_test(an_encoding_is_plain_only_without_tags_and_patterns),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
