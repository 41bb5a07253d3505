// libcurl's easy and multi interfaces. Swift cannot call variadic functions, so each kind of option has a function here.
#include <curl/curl.h>

// NULL when the library is loaded, else why not. The other functions end the process without it.
const char *satchel_curl_problem(void);

CURLcode satchel_curl_set_long(CURL *handle, CURLoption option, long value);
CURLcode satchel_curl_set_pointer(CURL *handle, CURLoption option, const void *value);
CURLcode satchel_curl_set_callback(CURL *handle, CURLoption option, size_t (*value)(char *, size_t, size_t, void *));
CURLcode satchel_curl_set_debug(CURL *handle, int (*value)(CURL *, curl_infotype, char *, size_t, void *));
CURLcode satchel_curl_get_long(CURL *handle, CURLINFO info, long *value);
CURLcode satchel_curl_get_offset(CURL *handle, CURLINFO info, curl_off_t *value);
CURLcode satchel_curl_get_pointer(CURL *handle, CURLINFO info, void **value);
CURLMcode satchel_curl_multi_set_long(CURLM *handle, CURLMoption option, long value);

// The result inside a message is in a union.
static inline CURLcode satchel_curl_message_result(const CURLMsg *message) { return message->data.result; }
