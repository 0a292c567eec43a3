/* The functions of cradle.h that have places (cradle/detail/call.h). cradle.h includes this file last. Functions that
 * cannot be misused, and those that a C++ program may call outside of functions, are left out. */
#ifndef CRADLE_DETAIL_PLACES_H
#define CRADLE_DETAIL_PLACES_H

#include <cradle/detail/call.h>

#if CRADLE_HAS_PLACES

#define cradle_new(...) CRADLE_PLACED(cradle_new(__VA_ARGS__))
#define cradle_new_uninitialized(...) CRADLE_PLACED(cradle_new_uninitialized(__VA_ARGS__))
#define cradle_new_fast(...) CRADLE_PLACED(cradle_new_fast(__VA_ARGS__))
#define cradle_new_array(...) CRADLE_PLACED(cradle_new_array(__VA_ARGS__))
#define cradle_new_registered(...) CRADLE_PLACED(cradle_new_registered(__VA_ARGS__))
#define cradle_new_flagged(...) CRADLE_PLACED(cradle_new_flagged(__VA_ARGS__))
#define cradle_reserve(...) CRADLE_PLACED(cradle_reserve(__VA_ARGS__))
#define cradle_new_reserved(...) CRADLE_PLACED(cradle_new_reserved(__VA_ARGS__))
#define cradle_new_items(...) CRADLE_PLACED(cradle_new_items(__VA_ARGS__))
#define cradle_new_items_fast(...) CRADLE_PLACED(cradle_new_items_fast(__VA_ARGS__))
#define cradle_new_items_uninitialized(...) CRADLE_PLACED(cradle_new_items_uninitialized(__VA_ARGS__))
#define cradle_new_with(...) CRADLE_PLACED(cradle_new_with(__VA_ARGS__))
#define cradle_new_reserved_items(...) CRADLE_PLACED(cradle_new_reserved_items(__VA_ARGS__))

#define cradle_write_barrier(...) CRADLE_PLACED(cradle_write_barrier(__VA_ARGS__))
#define cradle_store_value(...) CRADLE_PLACED(cradle_store_value(__VA_ARGS__))
#define cradle_store(...) CRADLE_PLACED(cradle_store(__VA_ARGS__))
#define cradle_copy_slots(...) CRADLE_PLACED(cradle_copy_slots(__VA_ARGS__))
#define cradle_store_release_value(...) CRADLE_PLACED(cradle_store_release_value(__VA_ARGS__))
#define cradle_store_release(...) CRADLE_PLACED(cradle_store_release(__VA_ARGS__))
#define cradle_exchange_value(...) CRADLE_PLACED(cradle_exchange_value(__VA_ARGS__))
#define cradle_exchange(...) CRADLE_PLACED(cradle_exchange(__VA_ARGS__))
#define cradle_compare_exchange_value(...) CRADLE_PLACED(cradle_compare_exchange_value(__VA_ARGS__))
#define cradle_compare_exchange(...) CRADLE_PLACED(cradle_compare_exchange(__VA_ARGS__))

#define cradle_push_word(...) CRADLE_PLACED(cradle_push_word(__VA_ARGS__))
#define cradle_push(...) CRADLE_PLACED(cradle_push(__VA_ARGS__))
#define cradle_pop(...) CRADLE_PLACED(cradle_pop(__VA_ARGS__))
#define cradle_pop_many(...) CRADLE_PLACED(cradle_pop_many(__VA_ARGS__))
#define cradle_peek(...) CRADLE_PLACED(cradle_peek(__VA_ARGS__))
#define cradle_root_range_add(...) CRADLE_PLACED(cradle_root_range_add(__VA_ARGS__))
#define cradle_root_range_remove(...) CRADLE_PLACED(cradle_root_range_remove(__VA_ARGS__))
#define cradle_root_stack_new(...) CRADLE_PLACED(cradle_root_stack_new(__VA_ARGS__))
#define cradle_root_stack_free(...) CRADLE_PLACED(cradle_root_stack_free(__VA_ARGS__))
#define cradle_root_stack_switch(...) CRADLE_PLACED(cradle_root_stack_switch(__VA_ARGS__))
#define cradle_global_root_add(...) CRADLE_PLACED(cradle_global_root_add(__VA_ARGS__))
#define cradle_global_root_remove(...) CRADLE_PLACED(cradle_global_root_remove(__VA_ARGS__))
#define cradle_root_callback_set(...) CRADLE_PLACED(cradle_root_callback_set(__VA_ARGS__))

#define cradle_mutator_free(...) CRADLE_PLACED(cradle_mutator_free(__VA_ARGS__))
#define cradle_mutator_detach(...) CRADLE_PLACED(cradle_mutator_detach(__VA_ARGS__))
#define cradle_mutator_attach(...) CRADLE_PLACED(cradle_mutator_attach(__VA_ARGS__))
#define cradle_mutator_park(...) CRADLE_PLACED(cradle_mutator_park(__VA_ARGS__))
#define cradle_mutator_unpark(...) CRADLE_PLACED(cradle_mutator_unpark(__VA_ARGS__))
#define cradle_parked_begin(...) CRADLE_PLACED(cradle_parked_begin(__VA_ARGS__))
#define cradle_no_collect_begin(...) CRADLE_PLACED(cradle_no_collect_begin(__VA_ARGS__))
#define cradle_no_collect_end(...) CRADLE_PLACED(cradle_no_collect_end(__VA_ARGS__))
#define cradle_stopped_call(...) CRADLE_PLACED(cradle_stopped_call(__VA_ARGS__))
#define cradle_safepoint(...) CRADLE_PLACED(cradle_safepoint(__VA_ARGS__))

#define cradle_collect(...) CRADLE_PLACED(cradle_collect(__VA_ARGS__))
#define cradle_collect_step(...) CRADLE_PLACED(cradle_collect_step(__VA_ARGS__))
#define cradle_finalizer_queue_all(...) CRADLE_PLACED(cradle_finalizer_queue_all(__VA_ARGS__))
#define cradle_heap_set_max(...) CRADLE_PLACED(cradle_heap_set_max(__VA_ARGS__))
#define cradle_fork_prepare(...) CRADLE_PLACED(cradle_fork_prepare(__VA_ARGS__))
#define cradle_fork_done(...) CRADLE_PLACED(cradle_fork_done(__VA_ARGS__))

#define cradle_pin(...) CRADLE_PLACED(cradle_pin(__VA_ARGS__))
#define cradle_unpin(...) CRADLE_PLACED(cradle_unpin(__VA_ARGS__))
#define cradle_handle_new(...) CRADLE_PLACED(cradle_handle_new(__VA_ARGS__))
#define cradle_handle_get(...) CRADLE_PLACED(cradle_handle_get(__VA_ARGS__))
#define cradle_handle_set(...) CRADLE_PLACED(cradle_handle_set(__VA_ARGS__))
#define cradle_handle_free(...) CRADLE_PLACED(cradle_handle_free(__VA_ARGS__))

#define cradle_identity_hash(...) CRADLE_PLACED(cradle_identity_hash(__VA_ARGS__))
#define cradle_id(...) CRADLE_PLACED(cradle_id(__VA_ARGS__))
#define cradle_object_of_id(...) CRADLE_PLACED(cradle_object_of_id(__VA_ARGS__))
#define cradle_finalizer_register(...) CRADLE_PLACED(cradle_finalizer_register(__VA_ARGS__))
#define cradle_finalizer_next(...) CRADLE_PLACED(cradle_finalizer_next(__VA_ARGS__))

#define cradle_weak_set_new(...) CRADLE_PLACED(cradle_weak_set_new(__VA_ARGS__))
#define cradle_weak_set_free(...) CRADLE_PLACED(cradle_weak_set_free(__VA_ARGS__))
#define cradle_weak_set_find(...) CRADLE_PLACED(cradle_weak_set_find(__VA_ARGS__))
#define cradle_weak_set_add(...) CRADLE_PLACED(cradle_weak_set_add(__VA_ARGS__))
#define cradle_weak_set_find_or_add(...) CRADLE_PLACED(cradle_weak_set_find_or_add(__VA_ARGS__))
#define cradle_weak_set_remove(...) CRADLE_PLACED(cradle_weak_set_remove(__VA_ARGS__))
#define cradle_weak_set_next(...) CRADLE_PLACED(cradle_weak_set_next(__VA_ARGS__))

#define cradle_heap_free(...) CRADLE_PLACED(cradle_heap_free(__VA_ARGS__))
#define cradle_heap_prepare(...) CRADLE_PLACED(cradle_heap_prepare(__VA_ARGS__))
#define cradle_heap_verify(...) CRADLE_PLACED(cradle_heap_verify(__VA_ARGS__))
#define cradle_type_add(...) CRADLE_PLACED(cradle_type_add(__VA_ARGS__))
#define cradle_external_memory(...) CRADLE_PLACED(cradle_external_memory(__VA_ARGS__))
#define cradle_external_pressure(...) CRADLE_PLACED(cradle_external_pressure(__VA_ARGS__))
#define cradle_major_hold(...) CRADLE_PLACED(cradle_major_hold(__VA_ARGS__))
#define cradle_release_memory(...) CRADLE_PLACED(cradle_release_memory(__VA_ARGS__))
#define cradle_heap_walk(...) CRADLE_PLACED(cradle_heap_walk(__VA_ARGS__))
#define cradle_referrers(...) CRADLE_PLACED(cradle_referrers(__VA_ARGS__))
#define cradle_image_save(...) CRADLE_PLACED(cradle_image_save(__VA_ARGS__))
#define cradle_image_save_to(...) CRADLE_PLACED(cradle_image_save_to(__VA_ARGS__))
#define cradle_image_root_get(...) CRADLE_PLACED(cradle_image_root_get(__VA_ARGS__))
#define cradle_image_set_take(...) CRADLE_PLACED(cradle_image_set_take(__VA_ARGS__))
#define cradle_heap_dump(...) CRADLE_PLACED(cradle_heap_dump(__VA_ARGS__))

/* Comes after a longjmp, which left calls without their end. */
#define cradle_checkpoint_restore(...) (cradle_call_end(NULL), CRADLE_PLACED(cradle_checkpoint_restore(__VA_ARGS__)))

#endif

#endif
