// The functions of libcurl in the header. The first call of one loads the library: most processes never call any, and
// with the libraries that it needs it takes half a MB of memory in each.
#include "shim.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define LIBRARY "libcurl.so.4"

static void *load(const char *name) {
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    void *function = library ? dlsym(library, name) : NULL;
    if (function) return function;
    fprintf(stderr, LIBRARY " has no %s\n", name);
    abort();
}

const char *satchel_curl_problem(void) {
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    // The newest function of those below.
    if (library && dlsym(library, "curl_multi_wakeup")) return NULL;
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

FORWARD(CURLcode, curl_global_init, (long flags), flags)
FORWARD(CURL *, curl_easy_init, (void))
FORWARD(void, curl_easy_cleanup, (CURL *handle), handle)
FORWARD(const char *, curl_easy_strerror, (CURLcode code), code)
FORWARD(CURLM *, curl_multi_init, (void))
FORWARD(CURLMcode, curl_multi_cleanup, (CURLM *multi), multi)
FORWARD(CURLMcode, curl_multi_add_handle, (CURLM *multi, CURL *handle), multi, handle)
FORWARD(CURLMcode, curl_multi_remove_handle, (CURLM *multi, CURL *handle), multi, handle)
FORWARD(CURLMcode, curl_multi_perform, (CURLM *multi, int *running), multi, running)
FORWARD(CURLMcode, curl_multi_poll,
    (CURLM *multi, struct curl_waitfd extra[], unsigned int count, int milliseconds, int *ready),
    multi, extra, count, milliseconds, ready)
FORWARD(CURLMcode, curl_multi_wakeup, (CURLM *multi), multi)
FORWARD(CURLMsg *, curl_multi_info_read, (CURLM *multi, int *left), multi, left)
FORWARD(struct curl_slist *, curl_slist_append, (struct curl_slist *list, const char *text), list, text)
FORWARD(void, curl_slist_free_all, (struct curl_slist *list), list)

CURLcode satchel_curl_set_long(CURL *handle, CURLoption option, long value) {
    return LOADED(curl_easy_setopt)(handle, option, value);
}

CURLcode satchel_curl_set_pointer(CURL *handle, CURLoption option, const void *value) {
    return LOADED(curl_easy_setopt)(handle, option, value);
}

CURLcode satchel_curl_set_callback(
    CURL *handle, CURLoption option, size_t (*value)(char *, size_t, size_t, void *)) {
    return LOADED(curl_easy_setopt)(handle, option, value);
}

CURLcode satchel_curl_set_debug(CURL *handle, int (*value)(CURL *, curl_infotype, char *, size_t, void *)) {
    return LOADED(curl_easy_setopt)(handle, CURLOPT_DEBUGFUNCTION, value);
}

CURLcode satchel_curl_get_long(CURL *handle, CURLINFO info, long *value) {
    return LOADED(curl_easy_getinfo)(handle, info, value);
}

CURLcode satchel_curl_get_offset(CURL *handle, CURLINFO info, curl_off_t *value) {
    return LOADED(curl_easy_getinfo)(handle, info, value);
}

CURLcode satchel_curl_get_pointer(CURL *handle, CURLINFO info, void **value) {
    return LOADED(curl_easy_getinfo)(handle, info, value);
}

CURLMcode satchel_curl_multi_set_long(CURLM *handle, CURLMoption option, long value) {
    return LOADED(curl_multi_setopt)(handle, option, value);
}
