/* The pages of Windows as test_large_pages.c has them compiled: the test gives a privilege and large pages. */
#ifndef TESTS_LARGE_PAGES_CALLS_H
#define TESTS_LARGE_PAGES_CALLS_H

#include "gc/platform/windows.h"

SIZE_T large_page_minimum(void);
BOOL lookup_privilege(LPCSTR system, LPCSTR name, LUID *found);
BOOL adjust_privileges(HANDLE token, BOOL none, TOKEN_PRIVILEGES *wanted, DWORD size, void *before, void *length);
void *alloc_pages(void *address, SIZE_T size, DWORD kind, DWORD protection);

#ifdef REPLACED_CALLS
#define GetLargePageMinimum large_page_minimum
#define LookupPrivilegeValueA lookup_privilege
#define AdjustTokenPrivileges adjust_privileges
#define VirtualAlloc alloc_pages
#endif

#endif
