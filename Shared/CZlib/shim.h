// zlib. Swift cannot import `inflateInit2`, a macro that adds the version and the size of the stream.
#include <zlib.h>

static inline int satchel_inflate_start(z_stream *stream, int window_bits) {
    return inflateInit2(stream, window_bits);
}
