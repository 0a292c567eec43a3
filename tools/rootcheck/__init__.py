"""The parts of tools/cradle-rootcheck: syntax (the compiler's tree), facts (about the whole program), flow (one function)."""
