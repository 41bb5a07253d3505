// Joins the writes of a commit to the write-ahead log. SQLite writes each page with two system calls, at places that the
// system's pages do not match: a third of a commit's processor time. Bytes and order remain the same.
//
// Only the writes of one COMMIT are kept back (`satchel_join_log_writes`). Its last page sends all of them before its
// xWrite returns; SQLite shows a commit to readers only after that. Reads, syncs and changes of the size send them too.
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

enum {
    satchel_log_join = 0x53415443,  // Our own sqlite3_file_control.
    satchel_log_joined_max = 65536,
    satchel_log_frame_header = 24,
};

// What `satchel_log_join` tells about a COMMIT.
enum { satchel_commit_begins, satchel_commit_succeeded, satchel_commit_failed };

typedef struct {
    sqlite3_file file;
    // The log of the system's VFS, in the memory after this structure.
    sqlite3_file *log;
    // Writes that are kept back, which follow each other.
    unsigned char *bytes;
    int count;
    sqlite3_int64 offset;
    // The end of what was written. A write before it replaces a frame of the same transaction, or one that was rolled
    // back; such writes are not kept back.
    sqlite3_int64 end;
    int joins;
    // The next page is the last one of a commit.
    int commits;
} satchel_log;

static inline int satchel_log_send(satchel_log *log, const void *bytes, int count, sqlite3_int64 offset) {
    int code = log->log->pMethods->xWrite(log->log, bytes, count, offset);
    if (code == SQLITE_OK && (offset == 0 || offset + count > log->end)) log->end = offset + count;
    return code;
}

static inline int satchel_log_flush(satchel_log *log) {
    int count = log->count;
    log->count = 0;
    return count ? satchel_log_send(log, log->bytes, count, log->offset) : SQLITE_OK;
}

static int satchel_log_close(sqlite3_file *file) {
    satchel_log *log = (satchel_log *)file;
    free(log->bytes);
    log->bytes = 0;
    return log->log->pMethods->xClose(log->log);
}

static int satchel_log_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
    satchel_log *log = (satchel_log *)file;
    int code = satchel_log_flush(log);
    return code ? code : log->log->pMethods->xRead(log->log, bytes, count, offset);
}

static int satchel_log_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    satchel_log *log = (satchel_log *)file;
    // https://www.sqlite.org/fileformat2.html#walformat: the size of the database after the commit, else 0.
    if (count == satchel_log_frame_header) {
        static const unsigned char none[4];
        log->commits = memcmp((const unsigned char *)bytes + 4, none, sizeof none) != 0;
    }
    int follows = log->count && offset == log->offset + log->count && log->count + count <= satchel_log_joined_max;
    if (!follows) {
        int code = satchel_log_flush(log);
        if (code) return code;
        if (!log->joins || count > satchel_log_joined_max || (offset != 0 && offset < log->end))
            return satchel_log_send(log, bytes, count, offset);
        log->offset = offset;
    }
    memcpy(log->bytes + log->count, bytes, count);
    log->count += count;
    return count != satchel_log_frame_header && log->commits ? satchel_log_flush(log) : SQLITE_OK;
}

static int satchel_log_truncate(sqlite3_file *file, sqlite3_int64 size) {
    satchel_log *log = (satchel_log *)file;
    int code = satchel_log_flush(log);
    if (size < log->end) log->end = size;
    return code ? code : log->log->pMethods->xTruncate(log->log, size);
}

static int satchel_log_sync(sqlite3_file *file, int flags) {
    satchel_log *log = (satchel_log *)file;
    int code = satchel_log_flush(log);
    return code ? code : log->log->pMethods->xSync(log->log, flags);
}

static int satchel_log_size(sqlite3_file *file, sqlite3_int64 *size) {
    satchel_log *log = (satchel_log *)file;
    int code = satchel_log_flush(log);
    return code ? code : log->log->pMethods->xFileSize(log->log, size);
}

static int satchel_log_lock(sqlite3_file *file, int lock) {
    satchel_log *log = (satchel_log *)file;
    return log->log->pMethods->xLock(log->log, lock);
}

static int satchel_log_unlock(sqlite3_file *file, int lock) {
    satchel_log *log = (satchel_log *)file;
    return log->log->pMethods->xUnlock(log->log, lock);
}

static int satchel_log_is_reserved(sqlite3_file *file, int *result) {
    satchel_log *log = (satchel_log *)file;
    return log->log->pMethods->xCheckReservedLock(log->log, result);
}

static int satchel_log_control(sqlite3_file *file, int operation, void *argument) {
    satchel_log *log = (satchel_log *)file;
    if (operation != satchel_log_join) return log->log->pMethods->xFileControl(log->log, operation, argument);
    int stage = *(int *)argument;
    if (!log->bytes) log->bytes = malloc(satchel_log_joined_max);
    log->joins = log->bytes && stage == satchel_commit_begins;
    int code = stage == satchel_commit_succeeded ? satchel_log_flush(log) : SQLITE_OK;
    // What a failed commit left is not part of the log.
    log->count = 0;
    log->commits = 0;
    return code;
}

static int satchel_log_sector(sqlite3_file *file) {
    satchel_log *log = (satchel_log *)file;
    return log->log->pMethods->xSectorSize(log->log);
}

static int satchel_log_characteristics(sqlite3_file *file) {
    satchel_log *log = (satchel_log *)file;
    return log->log->pMethods->xDeviceCharacteristics(log->log);
}

static const sqlite3_io_methods satchel_log_methods = {
    .iVersion = 1,
    .xClose = satchel_log_close,
    .xRead = satchel_log_read,
    .xWrite = satchel_log_write,
    .xTruncate = satchel_log_truncate,
    .xSync = satchel_log_sync,
    .xFileSize = satchel_log_size,
    .xLock = satchel_log_lock,
    .xUnlock = satchel_log_unlock,
    .xCheckReservedLock = satchel_log_is_reserved,
    .xFileControl = satchel_log_control,
    .xSectorSize = satchel_log_sector,
    .xDeviceCharacteristics = satchel_log_characteristics,
};

static int satchel_log_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *opened) {
    sqlite3_vfs *system = sqlite3_vfs_find("unix");
    if (!(flags & SQLITE_OPEN_WAL)) return system->xOpen(system, path, file, flags, opened);
    satchel_log *log = (satchel_log *)file;
    memset(log, 0, sizeof *log);
    log->log = (sqlite3_file *)(log + 1);
    int code = system->xOpen(system, path, log->log, flags, opened);
    if (code == SQLITE_OK) file->pMethods = &satchel_log_methods;
    return code;
}

// Registers the VFS for all later connections. Called once.
static inline int satchel_join_logs(void) {
    static sqlite3_vfs joined;
    sqlite3_vfs *system = sqlite3_vfs_find("unix");
    if (!system) return SQLITE_ERROR;
    joined = *system;
    joined.pNext = 0;
    joined.zName = "satchel";
    joined.szOsFile = system->szOsFile + (int)sizeof(satchel_log);
    joined.xOpen = satchel_log_open;
    return sqlite3_vfs_register(&joined, 1);
}

static inline int satchel_tell_log(sqlite3 *connection, int stage) {
    sqlite3_file *log = 0;
    int code = sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    // A journal in memory has no xFileControl.
    if (code != SQLITE_OK || !log || !log->pMethods || !log->pMethods->xFileControl) return SQLITE_OK;
    code = log->pMethods->xFileControl(log, satchel_log_join, &stage);
    return code == SQLITE_NOTFOUND ? SQLITE_OK : code;
}

// Called before a COMMIT.
static inline void satchel_join_log_writes(sqlite3 *connection) { satchel_tell_log(connection, satchel_commit_begins); }

// Called after it. Returns the failure to write what is left of a commit that succeeded.
static inline int satchel_end_log_writes(sqlite3 *connection, int has_succeeded) {
    return satchel_tell_log(connection, has_succeeded ? satchel_commit_succeeded : satchel_commit_failed);
}
