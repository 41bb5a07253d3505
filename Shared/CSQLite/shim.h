// SQLite's functions that take any number of arguments, which Swift cannot call.
#include <sqlite3.h>

static inline int satchel_keep_savepoints_in_memory(int bytes) {
    return sqlite3_config(SQLITE_CONFIG_STMTJRNL_SPILL, bytes);
}

// By default each connection begins with 20 pages of memory, which readers of a mapped file never fill.
static inline int satchel_allocate_pages_when_used(void) {
    return sqlite3_config(SQLITE_CONFIG_PAGECACHE, (void *)0, 0, 0);
}

// SQLite's statistics of memory, which nothing reads, take a lock of the whole process for each allocation.
static inline int satchel_keep_no_memory_statistics(void) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

// "text" is a name and never a text, so that a name with a slip in it is an error (https://www.sqlite.org/quirks.html).
static inline void satchel_take_quotes_for_names(sqlite3 *connection) {
    sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DDL, 0, (void *)0);
    sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DML, 0, (void *)0);
}

// The system's error number behind SQLITE_IOERR and SQLITE_CANTOPEN; 0 if unknown. SQLite 3.40 sets sqlite3_system_errno
// for a failed open, but not for a failed commit, whose error is the log's.
static inline int satchel_system_error(sqlite3 *connection, int code) {
    sqlite3_file *log = 0;
    int error = 0;
    if ((code & 0xFF) == SQLITE_CANTOPEN) return sqlite3_system_errno(connection);
    if (sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) == SQLITE_OK && log && log->pMethods
        && log->pMethods->xFileControl)
        log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &error);
    if (!error) sqlite3_file_control(connection, "main", SQLITE_FCNTL_LAST_ERRNO, &error);
    return error ? error : sqlite3_system_errno(connection);
}
