// libxcrypt. Swift cannot import `struct crypt_data`, whose array is too long for a tuple.
#include <crypt.h>

static inline int satchel_crypt_bytes(void) { return (int)sizeof(struct crypt_data); }
