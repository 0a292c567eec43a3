#pragma GCC system_header
#include "tests/windows/posix.h"
#include_next <stdlib.h>
