/* The functions of cradle/kit.h that have places (cradle/detail/call.h): any message that comes from inside such a
 * function ends with the place where the function was called. kit.h includes this file last. */
#ifndef CRADLE_DETAIL_KIT_PLACES_H
#define CRADLE_DETAIL_KIT_PLACES_H

#include <cradle/detail/call.h>

#if CRADLE_HAS_PLACES

#define cradle_kit_add_types(...) CRADLE_PLACED(cradle_kit_add_types(__VA_ARGS__))
#define cradle_kit_hash_identity(...) CRADLE_PLACED(cradle_kit_hash_identity(__VA_ARGS__))

#define cradle_kit_string_new(...) CRADLE_PLACED(cradle_kit_string_new(__VA_ARGS__))
#define cradle_kit_string_join(...) CRADLE_PLACED(cradle_kit_string_join(__VA_ARGS__))
#define cradle_kit_string_slice(...) CRADLE_PLACED(cradle_kit_string_slice(__VA_ARGS__))

#define cradle_kit_array_new(...) CRADLE_PLACED(cradle_kit_array_new(__VA_ARGS__))
#define cradle_kit_list_new(...) CRADLE_PLACED(cradle_kit_list_new(__VA_ARGS__))
#define cradle_kit_list_append(...) CRADLE_PLACED(cradle_kit_list_append(__VA_ARGS__))
#define cradle_kit_list_get(...) CRADLE_PLACED(cradle_kit_list_get(__VA_ARGS__))
#define cradle_kit_list_set(...) CRADLE_PLACED(cradle_kit_list_set(__VA_ARGS__))
#define cradle_kit_list_pop(...) CRADLE_PLACED(cradle_kit_list_pop(__VA_ARGS__))
#define cradle_kit_list_insert(...) CRADLE_PLACED(cradle_kit_list_insert(__VA_ARGS__))
#define cradle_kit_list_remove(...) CRADLE_PLACED(cradle_kit_list_remove(__VA_ARGS__))

#define cradle_kit_map_new(...) CRADLE_PLACED(cradle_kit_map_new(__VA_ARGS__))
#define cradle_kit_map_find(...) CRADLE_PLACED(cradle_kit_map_find(__VA_ARGS__))
#define cradle_kit_map_key_at(...) CRADLE_PLACED(cradle_kit_map_key_at(__VA_ARGS__))
#define cradle_kit_map_value_at(...) CRADLE_PLACED(cradle_kit_map_value_at(__VA_ARGS__))
#define cradle_kit_map_get(...) CRADLE_PLACED(cradle_kit_map_get(__VA_ARGS__))
#define cradle_kit_map_set(...) CRADLE_PLACED(cradle_kit_map_set(__VA_ARGS__))
#define cradle_kit_map_remove(...) CRADLE_PLACED(cradle_kit_map_remove(__VA_ARGS__))

#define cradle_kit_intern(...) CRADLE_PLACED(cradle_kit_intern(__VA_ARGS__))
#define cradle_kit_intern_string(...) CRADLE_PLACED(cradle_kit_intern_string(__VA_ARGS__))

#endif

#endif
