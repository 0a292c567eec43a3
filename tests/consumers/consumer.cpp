// The public headers from C++: everything inline is compiled, and the program links and runs.
#include <cradle/cradle.h>

#include <cstdio>

int main() {
  if (cradle_version() != CRADLE_VERSION) {
    std::fprintf(stderr, "headers %u, library %u\n", static_cast<unsigned>(CRADLE_VERSION),
                 static_cast<unsigned>(cradle_version()));
    return 1;
  }
  return 0;
}
