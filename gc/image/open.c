/* Opening an image: nothing of the file is believed that was not compared with its length, with its own other parts, or
 * with the heap. */
#include <inttypes.h>
#include <stdlib.h>

#include "gc/image/image.h"

/* --- the header --- */

static bool check_header(const crd_image *image, cradle_error *error) {
  const image_header *header = &image->header;
  if (memcmp(header->magic, IMAGE_MAGIC, sizeof header->magic) != 0)
    return IMAGE_REFUSE(error, "the file is no image of a heap");
  if (header->order != IMAGE_ORDER) return IMAGE_REFUSE(error, "it was made by a machine with another order of bytes");
  if (header->version != IMAGE_VERSION || header->bytes != sizeof *header)
    return IMAGE_REFUSE(error, "its format is version %u, and this library reads version %u", header->version,
                        (unsigned)IMAGE_VERSION);
  if (header->file_bytes != image->input.length)
    return IMAGE_REFUSE(error, "the file has %" PRIu64 " bytes and must have %" PRIu64 ": it is cut off or damaged",
                        image->input.length, header->file_bytes);
  return true;
}

/* That the parts follow each other, and that all of them are in the file [image.2]. */
static bool check_parts(const crd_image *image, cradle_error *error) {
  const image_header *header = &image->header;
  uint64_t at = sizeof *header, most = header->file_bytes;
  for (int i = 0; i < IMAGE_PARTS; i++) {
    if (header->parts[i].at != at || header->parts[i].count > (most - at) / image_part_bytes[i])
      return IMAGE_REFUSE(error, DAMAGED "table %u is not where it must be", (unsigned)i);
    at = align_up(at + header->parts[i].count * image_part_bytes[i], 8);
    if (at > most) return IMAGE_REFUSE(error, DAMAGED "table %u is longer than the file", (unsigned)i);
  }
  if (header->objects_at != align_up(at, IMAGE_ALIGNMENT) || header->objects_at > most)
    return IMAGE_REFUSE(error, DAMAGED "its objects are not where they must be");
  if (header->base == 0 || header->base % ARENA_BYTES != 0 || header->arenas > UINT32_MAX / ARENA_PAGES)
    return IMAGE_REFUSE(error, DAMAGED "no heap can have had its address");
  return true;
}

static bool read_tables(crd_image *image, cradle_error *error) {
  const image_header *header = &image->header;
  ASSERT(header->objects_at >= sizeof *header && header->objects_at <= image->input.length,
         "[image.1] tables are read that are not in the file");
  size_t bytes = header->objects_at - sizeof *header;
  image->tables = malloc(bytes + 1);
  if (image->tables == NULL) return IMAGE_REFUSE(error, NO_MEMORY);
  if (!crd_input_read(&image->input, sizeof *header, image->tables, bytes))
    return IMAGE_REFUSE(error, "the file cannot be read");
  uint64_t sum = image_sum(0, &header->file_bytes, sizeof *header - offsetof(image_header, file_bytes));
  if (image_sum(sum, image->tables, bytes) != header->checksum)
    return IMAGE_REFUSE(error, DAMAGED "its tables do not have their checksum");
  uint64_t names = image_count(image, IMAGE_NAMES);
  if (names != 0 && *image_name(image, names - 1) != 0) return IMAGE_REFUSE(error, DAMAGED "its last name has no end");
  return true;
}

/* --- the program's side --- */

static bool check_encoding(const crd_image *image, cradle_error *error) {
  uint64_t words[IMAGE_ENCODING_WORDS];
  image_encoding(words, &image->heap->options.encoding);
  return memcmp(words, image->header.encoding, sizeof words) == 0 ||
         IMAGE_REFUSE(error, "its values have another encoding than options.encoding");
}

static bool check_fields(const crd_image *image, const image_type *type, uint32_t id, cradle_error *error) {
  static const char *const names[IMAGE_FIELDS] = {IMAGE_FIELD_NAMES};
  const crd_type_table *types = &image->heap->space.types;
  uint64_t fields[IMAGE_FIELDS];
  image_fields(fields, &types->types[id], crd_type_mended(types, id));
  for (int i = 0; i < IMAGE_FIELDS; i++)
    if (fields[i] != type->fields[i])
      return IMAGE_REFUSE(error, "type %s: %s is %#" PRIx64 " in the image, and %#" PRIx64 " in this program",
                          crd_show_name(types->types[id].name).buffer, names[i], type->fields[i], fields[i]);
  return true;
}

/* The type of a name: that with the same number first, else the next one after the last that was found, as most types
 * come in the same order. IMAGE_NUMBER_NONE: none has the name. */
static uint32_t find_type(const crd_type_table *types, uint32_t id, uint32_t last, const char *name) {
  for (uint32_t i = 0; i <= types->count; i++) {
    uint32_t at = i == 0 ? id : (last + i) % types->count;
    if (type_table_name(types, at) != NULL && strcmp(types->types[at].name, name) == 0) return at;
  }
  return IMAGE_NUMBER_NONE;
}

static bool match_types(crd_image *image, cradle_error *error) {
  const image_type *type = image_part_of(image, IMAGE_TYPES), *end = type + image_count(image, IMAGE_TYPES);
  for (const image_type *each = type; each < end; each++)
    if (each->id < CRADLE_TYPE_ID_END && each->id >= image->type_end) image->type_end = each->id + 1;
  ASSERT(image->type_end <= CRADLE_TYPE_ID_END, "[image.1] a type's number is larger than any type can have");
  image->types = malloc((image->type_end + 1) * sizeof *image->types);
  if (image->types == NULL) return IMAGE_REFUSE(error, NO_MEMORY);
  for (size_t i = 0; i < image->type_end; i++) image->types[i] = IMAGE_NUMBER_NONE;
  for (uint32_t found = 0; type < end; type++) {
    const char *name = image_name(image, type->name);
    if (name == NULL || type->id >= image->type_end || image->types[type->id] != IMAGE_NUMBER_NONE)
      return IMAGE_REFUSE(error, DAMAGED "its table of types has a wrong number or name");
    found = find_type(&image->heap->space.types, type->id, found, name);
    if (found == IMAGE_NUMBER_NONE)
      return IMAGE_REFUSE(error, "it has objects of the type %s, which is not in options.types",
                          crd_show_name(name).buffer);
    image->types[type->id] = found;
    image->renumbers |= found != type->id;
    if (!check_fields(image, type, found, error)) return false;
  }
  return true;
}

static bool match_symbols(crd_image *image, cradle_error *error) {
  const uint64_t *names = image_part_of(image, IMAGE_SYMBOLS), count = image_count(image, IMAGE_SYMBOLS);
  const cradle_image *from = image->from;
  image->symbols = calloc(count + 1, sizeof *image->symbols);
  if (image->symbols == NULL) return IMAGE_REFUSE(error, NO_MEMORY);
  for (size_t i = 0, last = 0; i < count; i++) {
    const char *name = image_name(image, names[i]);
    if (name == NULL) return IMAGE_REFUSE(error, DAMAGED "a symbol has no name");
    size_t tried = 0; /* most symbols come in the same order */
    while (tried < from->symbol_count && strcmp(from->symbols[last % from->symbol_count].name, name) != 0)
      tried++, last++;
    if (tried == from->symbol_count)
      return IMAGE_REFUSE(error, "it needs the symbol %s, which the program has not", crd_show_name(name).buffer);
    image->symbols[i] = image_symbol_address(&from->symbols[last++ % from->symbol_count]);
  }
  return true;
}

bool crd_image_match(crd_image *image, cradle_error *error) {
  return match_types(image, error) && match_symbols(image, error);
}

/* --- life --- */

bool crd_image_make(cradle_heap *heap, cradle_error *error) {
  if (heap->options.image == NULL) return true;
  heap->image = calloc(1, sizeof *heap->image);
  if (heap->image == NULL) return IMAGE_REFUSE(error, NO_MEMORY);
  *heap->image = (crd_image){.heap = heap, .from = heap->options.image};
  return true;
}

bool crd_image_open(crd_image *image, cradle_error *error) {
  const char *path = image->from->path, *why = crd_input_open(&image->input, path, image->from->descriptor);
  if (why != NULL) return IMAGE_REFUSE(error, "%s: %s", path == NULL ? "the descriptor" : path, why);
  if (image->input.length < sizeof image->header ||
      !crd_input_read(&image->input, 0, &image->header, sizeof image->header))
    return IMAGE_REFUSE(error, "the file is no image of a heap");
  return check_header(image, error) && check_parts(image, error) && read_tables(image, error) &&
         check_encoding(image, error);
}

/* Sets that nobody took are freed with the heap; the services still exist. */
void crd_image_fini(crd_image *image) {
  if (image == NULL) return;
  for (size_t i = 0; i < image->set_count; i++) cradle_weak_set_free(image->sets[i].set);
  crd_input_close(&image->input);
  free(image->tables);
  free(image->types);
  free(image->symbols);
  free(image->roots);
  free(image->sets);
  free(image);
}
