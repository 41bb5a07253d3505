// The functions of libcurl in the header.
#include "shim.h"

#define LIBRARY "libcurl.so.4"
#include "loaded.h"

// Asks for the newest function of those below.
const char *satchel_curl_problem(void) { return load_problem("curl_multi_wakeup"); }

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
