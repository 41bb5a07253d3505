// SQLite's functions that take any number of arguments, which Swift cannot call.
#include <sqlite3.h>

static inline int satchel_keep_savepoints_in_memory(int bytes) {
    return sqlite3_config(SQLITE_CONFIG_STMTJRNL_SPILL, bytes);
}

// "text" is a name and never a text, so that a name with a slip in it is an error (https://www.sqlite.org/quirks.html).
static inline void satchel_take_quotes_for_names(sqlite3 *connection) {
    sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DDL, 0, (void *)0);
    sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DML, 0, (void *)0);
}
