/* Cradle: a precise, moving, generational garbage collector for language runtimes written in C. This header includes
 * all public headers except the runtime kit, cradle/kit.h, which a program includes by name. */
#ifndef CRADLE_H
#define CRADLE_H

#include <cradle/barrier.h>
#include <cradle/base.h>
#include <cradle/control.h>
#include <cradle/event.h>
#include <cradle/finalizer.h>
#include <cradle/handle.h>
#include <cradle/heap.h>
#include <cradle/identity.h>
#include <cradle/image.h>
#include <cradle/inspect.h>
#include <cradle/mutator.h>
#include <cradle/new.h>
#include <cradle/object.h>
#include <cradle/options.h>
#include <cradle/pin.h>
#include <cradle/roots.h>
#include <cradle/runtime.h>
#include <cradle/sample.h>
#include <cradle/statistics.h>
#include <cradle/typed.h>
#include <cradle/weak.h>
#include <cradle/weak_set.h>

/* after the declarations: it makes macros of their names */
#include <cradle/detail/places.h>

#endif
