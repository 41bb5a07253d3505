// Functions of a library that the first call of one of them loads: most processes never call any, and with the
// libraries that it needs it takes half a MB of memory in each. A source file defines LIBRARY, the library's file name,
// before it includes this header.
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static void *load(const char *name) {
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    void *function = library ? dlsym(library, name) : NULL;
    if (function) return function;
    fprintf(stderr, LIBRARY " has no %s\n", name);
    abort();
}

// NULL when the library is loaded and has the function, else why not.
static const char *load_problem(const char *name) {
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library && dlsym(library, name)) return NULL;
    const char *problem = dlerror();
    return problem ? problem : LIBRARY " cannot be loaded";
}

#define LOADED(name) ((__typeof__(&name))({ \
    static _Atomic(void *) found; \
    void *function = atomic_load_explicit(&found, memory_order_acquire); \
    if (!function) atomic_store_explicit(&found, function = load(#name), memory_order_release); \
    function; }))

// Hidden, because the library must not find these when it calls its own.
#define FORWARD(result, name, parameters, ...) \
    __attribute__((visibility("hidden"))) result name parameters { return LOADED(name)(__VA_ARGS__); }
