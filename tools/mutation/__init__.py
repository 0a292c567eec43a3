"""Mutation testing with schemata (tools/mutate): every mutant is in one build, and a number in the environment chooses one."""
