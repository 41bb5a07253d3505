// PCRE2 in its 8-bit (UTF-8) form. Its functions are macros over a width suffix; Swift calls the suffixed names.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
