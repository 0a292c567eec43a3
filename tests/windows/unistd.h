#pragma GCC system_header
#include_next <unistd.h>
#include "tests/windows/posix.h"
