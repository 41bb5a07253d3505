// SQLite's settings of the whole process. Swift cannot call `sqlite3_config`, which takes any number of arguments.
#include <sqlite3.h>

static inline int satchel_keep_savepoints_in_memory(int bytes) {
    return sqlite3_config(SQLITE_CONFIG_STMTJRNL_SPILL, bytes);
}
