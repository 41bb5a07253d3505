// For LD_PRELOAD: system calls on some files fail. The file $DISK_FILE has an error number, `read` or `write` (reads
// fail too, or only writes), and a part of the files' paths: `30 write /bag.sqlite`. Without it nothing fails.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int trouble(const char *path, int is_write) {
    const char *name = getenv("DISK_FILE");
    int file = name ? (int)syscall(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC, 0) : -1;
    if (file < 0) return 0;
    char text[512] = {0}, kind[8] = {0}, part[256] = {0};
    long length = syscall(SYS_read, file, text, sizeof text - 1);
    syscall(SYS_close, file);
    int code = 0;
    if (length <= 0 || sscanf(text, "%d %7s %255s", &code, kind, part) != 3) return 0;
    return (is_write || strcmp(kind, "read") == 0) && strstr(path, part) ? code : 0;
}

static int fails(int file, int is_write) {
    char link[32], path[4096] = {0};
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    if (syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1) <= 0) return 0;
    int code = trouble(path, is_write);
    if (code) errno = code;
    return code;
}

int openat(int folder, const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, int) : 0;
    va_end(rest);
    int code = trouble(path, (flags & O_ACCMODE) != O_RDONLY);
    // A file on a full disk can be opened.
    if (code && code != ENOSPC) {
        errno = code;
        return -1;
    }
    return (int)syscall(SYS_openat, folder, path, flags, mode);
}

int open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, int) : 0;
    va_end(rest);
    return openat(AT_FDCWD, path, flags, mode);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
    return fails(file, 1) ? -1 : syscall(SYS_pwrite64, file, bytes, count, offset);
}

ssize_t pread(int file, void *bytes, size_t count, off_t offset) {
    return fails(file, 0) ? -1 : syscall(SYS_pread64, file, bytes, count, offset);
}

// Programs here only shorten files, for which a full disk has room.
int ftruncate(int file, off_t length) {
    int code = fails(file, 1);
    return code && code != ENOSPC ? -1 : (int)syscall(SYS_ftruncate, file, length);
}

int fsync(int file) { return fails(file, 1) ? -1 : (int)syscall(SYS_fsync, file); }

int fdatasync(int file) { return fails(file, 1) ? -1 : (int)syscall(SYS_fdatasync, file); }

// The names of these calls for large files. Both have 64-bit offsets here.
int open64(const char *, int, ...) __attribute__((alias("open")));
int openat64(int, const char *, int, ...) __attribute__((alias("openat")));
ssize_t pwrite64(int, const void *, size_t, off_t) __attribute__((alias("pwrite")));
ssize_t pread64(int, void *, size_t, off_t) __attribute__((alias("pread")));
int ftruncate64(int, off_t) __attribute__((alias("ftruncate")));
