/* Included before everything else in the build of tools/mutate. A guard is 1 in a process whose environment chooses its
 * mutant, MUTANT=n, and notes in the file that MUTANTS_REACHED names that the process came to it. */
#ifndef TOOLS_MUTATION_SCHEMATA_H
#define TOOLS_MUTATION_SCHEMATA_H

extern int crd_mutant;
extern unsigned char *crd_mutants_reached;

#define CRD_MUTANT(n) (crd_mutants_reached[n] = 1, __builtin_expect(crd_mutant == (n), 0))

#endif
