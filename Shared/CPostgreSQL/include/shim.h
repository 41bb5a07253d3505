// libpq, whose header Debian keeps in a folder of its own.
#if __has_include(<libpq-fe.h>)
#include <libpq-fe.h>
#else
#include <postgresql/libpq-fe.h>
#endif

// NULL when the library is loaded, else why not. The other functions end the process without it.
const char *satchel_pq_problem(void);

// Swift does not see the fields of a diagnostic as numbers: they are characters in macros.
static inline const char *satchel_pq_state(const PGresult *result) {
    return PQresultErrorField(result, PG_DIAG_SQLSTATE);
}
static inline const char *satchel_pq_message(const PGresult *result) {
    return PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
}
static inline const char *satchel_pq_constraint(const PGresult *result) {
    return PQresultErrorField(result, PG_DIAG_CONSTRAINT_NAME);
}
static inline const char *satchel_pq_function(const PGresult *result) {
    return PQresultErrorField(result, PG_DIAG_SOURCE_FUNCTION);
}
