/* Cradle: a precise, moving, generational garbage collector for language runtimes written in C. This header is all of it. */
#ifndef CRADLE_H
#define CRADLE_H

#include <cradle/barrier.h>
#include <cradle/base.h>
#include <cradle/event.h>
#include <cradle/heap.h>
#include <cradle/mutator.h>
#include <cradle/new.h>
#include <cradle/object.h>
#include <cradle/options.h>
#include <cradle/profile.h>
#include <cradle/roots.h>
#include <cradle/runtime.h>
#include <cradle/sample.h>
#include <cradle/statistics.h>

#endif
