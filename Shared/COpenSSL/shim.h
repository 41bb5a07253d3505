// libcrypto of OpenSSL 3. Its plain digests are called deprecated there: EVP's take their place, but need memory for
// each use and can fail; these cannot.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/md5.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/x509.h>
