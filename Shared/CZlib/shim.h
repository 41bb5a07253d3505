// zlib. Swift cannot import `inflateInit2` and `deflateInit2`, macros that add the version and the size of the stream.
#include <zlib.h>

static inline int satchel_inflate_start(z_stream *stream, int window_bits) {
    return inflateInit2(stream, window_bits);
}

static inline int satchel_deflate_start(z_stream *stream, int level, int window_bits, int memory_level) {
    return deflateInit2(stream, level, Z_DEFLATED, window_bits, memory_level, Z_DEFAULT_STRATEGY);
}
