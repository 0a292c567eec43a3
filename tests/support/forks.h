/* Says what this build can do with forks. FORKS_ARE_TRIED: fork a process that has threads. CHILDREN_MAKE_THREADS: make
 * threads in the child of a fork. tools/cross sets both to 0 for an emulator that can do neither. */
#ifndef TESTS_FORKS_H
#define TESTS_FORKS_H

/* ThreadSanitizer's own thread does not exist in the child, so the child of a process with threads may hang. */
#if defined(__SANITIZE_THREAD__) || defined(_WIN32)
#define FORKS_ARE_TRIED 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FORKS_ARE_TRIED 0
#endif
#endif
#ifndef FORKS_ARE_TRIED
#define FORKS_ARE_TRIED 1
#endif
#ifndef CHILDREN_MAKE_THREADS
#define CHILDREN_MAKE_THREADS 1
#endif

#endif
