#pragma GCC system_header
#include_next <stdlib.h>
#include "tests/windows/posix.h"
