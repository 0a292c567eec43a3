/* Pages on Windows: VirtualAlloc's reservations, whose parts are committed and decommitted.
 *
 * There are no transparent huge pages. Large pages are reserved and committed in one call and cannot be decommitted in
 * part, so a whole reservation has them (crd_pages_reserve_pool), or none of it; crd_pages_pool_doubt says what is
 * missing. */
#include "gc/platform/pages.h"

#include <stdint.h>
#include <string.h>

#include "gc/platform/windows.h"

#define PSAPI_VERSION 2 /* the functions of psapi.h are then in kernel32, and no other library is needed */
#include <psapi.h>

/* Attempts to reserve the place that was found: another thread may be quicker each time. */
#define PLACE_ATTEMPTS 32
#define LIST_PAGES 256

static bool is_aligned(const void *address, size_t alignment) {
  return (uintptr_t)address % alignment == 0;
}

static void *reserve_at(void *address, size_t size) {
  return VirtualAlloc(address, size, MEM_RESERVE, PAGE_NOACCESS);
}

static bool release_all(void *address) {
  return VirtualFree(address, 0, MEM_RELEASE) != 0;
}

/* Reserves at a multiple of the alignment. A reservation can be given back only as a whole, so its ends cannot be cut
 * off. Instead a larger one shows where there is room, is given back, and the aligned place in it is reserved. */
static void *reserve_in_larger(size_t size, size_t alignment) {
  if (size > SIZE_MAX - alignment) return NULL;
  for (int i = 0; i < PLACE_ATTEMPTS; i++) {
    char *larger = reserve_at(NULL, size + alignment);
    if (larger == NULL) return NULL;
    char *aligned = (char *)(((uintptr_t)larger + alignment - 1) & ~(uintptr_t)(alignment - 1));
    release_all(larger);
    void *reserved = reserve_at(aligned, size);
    if (reserved != NULL) return reserved;
  }
  return NULL;
}

static void *reserve_anywhere(size_t size, size_t alignment) {
  void *reserved = reserve_at(NULL, size);
  if (reserved == NULL || is_aligned(reserved, alignment)) return reserved;
  release_all(reserved);
  return reserve_in_larger(size, alignment);
}

/* Reserves at the address or nowhere. The system may round the address down, and then what it gave is given back. */
static void *reserve_exactly(void *hint, size_t size) {
  void *reserved = reserve_at(hint, size);
  if (reserved == NULL || reserved == hint) return reserved;
  release_all(reserved);
  return NULL;
}

void *crd_pages_reserve(size_t size, size_t alignment, void *hint) {
  if (!is_aligned(hint, alignment)) return NULL;
  KEEP_LAST_ERROR;
  return hint != NULL ? reserve_exactly(hint, size) : reserve_anywhere(size, alignment);
}

bool crd_pages_unreserve(void *address, size_t size) {
  (void)size;
  KEEP_LAST_ERROR;
  return release_all(address);
}

bool crd_pages_commit(void *address, size_t size) {
  KEEP_LAST_ERROR;
  return VirtualAlloc(address, size, MEM_COMMIT, PAGE_READWRITE) != NULL;
}

bool crd_pages_commit_pool(void *address, size_t size, size_t pool_page_bytes) {
  (void)address, (void)size, (void)pool_page_bytes;
  return false;
}

bool crd_pages_release(void *address, size_t size) {
  KEEP_LAST_ERROR;
  return VirtualFree(address, size, MEM_DECOMMIT) != 0;
}

/* Writes zeros and tells the system that it may drop the pages. To decommit them would need a commit afterwards, which
 * may be refused and would leave a hole [pages.3]. Pages that were reset either keep what they held or become zero,
 * which is the same here. Unlocking pages that are not locked takes them out of the process's working set at once. */
bool crd_pages_discard(void *address, size_t size) {
  KEEP_LAST_ERROR;
  memset(address, 0, size);
  if (VirtualAlloc(address, size, MEM_RESET, PAGE_READWRITE) != NULL) (void)VirtualUnlock(address, size);
  return true;
}

bool crd_pages_protect(void *address, size_t size, bool accessible) {
  DWORD before;
  KEEP_LAST_ERROR;
  return VirtualProtect(address, size, accessible ? PAGE_READWRITE : PAGE_NOACCESS, &before) != 0;
}

void crd_pages_advise_huge(void *address, size_t size, bool wanted) {
  (void)address, (void)size, (void)wanted;
}

/* Touches each page, as there is no call for it, and leaves its contents as they are. */
bool crd_pages_populate(void *address, size_t size) {
  SYSTEM_INFO system;
  KEEP_LAST_ERROR;
  GetSystemInfo(&system);
  for (char *at = address; at < (char *)address + size; at += system.dwPageSize)
    (void)__atomic_fetch_or(at, 0, __ATOMIC_RELAXED);
  return true;
}

void crd_pages_name(void *address, size_t size, const char *name) {
  (void)address, (void)size, (void)name;
}

/* A privilege that the account has must be enabled in the process. What the account lacks is an error although the call
 * succeeds. */
static bool enable_lock_privilege(void) {
  HANDLE token;
  TOKEN_PRIVILEGES wanted = {.PrivilegeCount = 1, .Privileges = {{.Attributes = SE_PRIVILEGE_ENABLED}}};
  if (!OpenProcessToken(GetCurrentProcess(), TOKEN_ADJUST_PRIVILEGES | TOKEN_QUERY, &token)) return false;
  bool enabled = LookupPrivilegeValueA(NULL, "SeLockMemoryPrivilege", &wanted.Privileges[0].Luid) &&
                 AdjustTokenPrivileges(token, FALSE, &wanted, 0, NULL, NULL) && GetLastError() == ERROR_SUCCESS;
  CloseHandle(token);
  return enabled;
}

void *crd_pages_reserve_pool(size_t size, size_t pool_page_bytes) {
  KEEP_LAST_ERROR;
  if (pool_page_bytes == 0 || size % pool_page_bytes != 0 || !enable_lock_privilege()) return NULL;
  return VirtualAlloc(NULL, size, MEM_RESERVE | MEM_COMMIT | MEM_LARGE_PAGES, PAGE_READWRITE);
}

const char *crd_pages_pool_doubt(bool in_parts) {
  KEEP_LAST_ERROR;
  if (GetLargePageMinimum() == 0) return "this Windows has no large pages";
  if (in_parts) return "Windows has large pages for a whole nursery only: arenas come and go, and have base pages";
  if (enable_lock_privilege()) return NULL;
  return "large pages need the privilege \"Lock pages in memory\": have an administrator give it to the account in "
         "secpol.msc (Local Policies, User Rights Assignment), and log in again";
}

static void add_page(const PSAPI_WORKING_SET_EX_INFORMATION *page, size_t page_bytes, crd_pages_backing *backing) {
  if (!page->VirtualAttributes.Valid) return;
  backing->resident_bytes += page_bytes;
  if (page->VirtualAttributes.LargePage) backing->huge_bytes += page_bytes;
}

bool crd_pages_backing_of(const void *address, size_t size, crd_pages_backing *backing) {
  PSAPI_WORKING_SET_EX_INFORMATION list[LIST_PAGES];
  SYSTEM_INFO system;
  KEEP_LAST_ERROR;
  GetSystemInfo(&system);
  size_t page_bytes = system.dwPageSize, pages = size / page_bytes;
  *backing = (crd_pages_backing){0, 0};
  for (size_t first = 0, count; first < pages; first += count) {
    count = pages - first < LIST_PAGES ? pages - first : LIST_PAGES;
    for (size_t i = 0; i < count; i++) list[i].VirtualAddress = (void *)((uintptr_t)address + (first + i) * page_bytes);
    if (!QueryWorkingSetEx(GetCurrentProcess(), list, (DWORD)(count * sizeof *list))) return false;
    for (size_t i = 0; i < count; i++) add_page(&list[i], page_bytes, backing);
  }
  return true;
}

void crd_platform_last_words(const char *text, size_t length) {
  KEEP_LAST_ERROR;
  HANDLE file = GetStdHandle(STD_ERROR_HANDLE);
  for (DWORD written; length > 0 && WriteFile(file, text, (DWORD)length, &written, NULL) && written > 0;) {
    text += written;
    length -= written;
  }
}

/* Whole seconds and the rest are converted apart: the counter times 10^9 would overflow. */
unsigned long long crd_platform_now_ns(void) {
  LARGE_INTEGER frequency, counter;
  QueryPerformanceFrequency(&frequency);
  QueryPerformanceCounter(&counter);
  unsigned long long second = (unsigned long long)frequency.QuadPart, now = (unsigned long long)counter.QuadPart;
  return now / second * 1000000000u + now % second * 1000000000u / second;
}

/* GetThreadTimes counts in steps of the scheduler, 15.6 ms. */
unsigned long long crd_platform_thread_ns(void) {
  return 0;
}

bool crd_platform_preemptions(unsigned long long *count) {
  (void)count;
  return false;
}
