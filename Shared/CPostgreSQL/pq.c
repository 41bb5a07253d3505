// The functions of libpq in the header. The first call of one loads the library: most processes never call any, and
// with the libraries that it needs it takes half a MB of memory in each.
#include "shim.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define LIBRARY "libpq.so.5"

static void *load(const char *name) {
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    void *function = library ? dlsym(library, name) : NULL;
    if (function) return function;
    fprintf(stderr, LIBRARY " has no %s\n", name);
    abort();
}

const char *satchel_pq_problem(void) {
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    // The newest function of those below.
    if (library && dlsym(library, "PQsendFlushRequest")) return NULL;
    const char *problem = dlerror();
    return problem ? problem : LIBRARY " cannot be loaded";
}

#define LOADED(name) ((__typeof__(&name))({ \
    static _Atomic(void *) found; \
    void *function = atomic_load_explicit(&found, memory_order_acquire); \
    if (!function) atomic_store_explicit(&found, function = load(#name), memory_order_release); \
    function; }))

// Hidden, because the library must not find these when it calls its own.
#define FORWARD(result, name, parameters, ...) \
    __attribute__((visibility("hidden"))) result name parameters { return LOADED(name)(__VA_ARGS__); }

FORWARD(int, PQbackendPID, (const PGconn *conn), conn)
FORWARD(int, PQcancel, (PGcancel *cancel, char *errbuf, int errbufsize), cancel, errbuf, errbufsize)
FORWARD(void, PQclear, (PGresult *res), res)
FORWARD(char *, PQcmdStatus, (PGresult *res), res)
FORWARD(char *, PQcmdTuples, (PGresult *res), res)
FORWARD(PGconn *, PQconnectdb, (const char *conninfo), conninfo)
FORWARD(PGconn *, PQconnectdbParams,
    (const char *const *keywords, const char *const *values, int expand_dbname), keywords, values, expand_dbname)
FORWARD(void, PQconninfoFree, (PQconninfoOption *connOptions), connOptions)
FORWARD(PQconninfoOption *, PQconninfoParse, (const char *conninfo, char **errmsg), conninfo, errmsg)
FORWARD(int, PQconsumeInput, (PGconn *conn), conn)
FORWARD(int, PQenterPipelineMode, (PGconn *conn), conn)
FORWARD(char *, PQerrorMessage, (const PGconn *conn), conn)
FORWARD(PGresult *, PQexec, (PGconn *conn, const char *query), conn, query)
FORWARD(int, PQexitPipelineMode, (PGconn *conn), conn)
FORWARD(void, PQfinish, (PGconn *conn), conn)
FORWARD(int, PQflush, (PGconn *conn), conn)
FORWARD(char *, PQfname, (const PGresult *res, int field_num), res, field_num)
FORWARD(void, PQfreeCancel, (PGcancel *cancel), cancel)
FORWARD(void, PQfreemem, (void *ptr), ptr)
FORWARD(Oid, PQftype, (const PGresult *res, int field_num), res, field_num)
FORWARD(PGcancel *, PQgetCancel, (PGconn *conn), conn)
FORWARD(PGresult *, PQgetResult, (PGconn *conn), conn)
FORWARD(int, PQgetisnull, (const PGresult *res, int tup_num, int field_num), res, tup_num, field_num)
FORWARD(int, PQgetlength, (const PGresult *res, int tup_num, int field_num), res, tup_num, field_num)
FORWARD(char *, PQgetvalue, (const PGresult *res, int tup_num, int field_num), res, tup_num, field_num)
FORWARD(int, PQisBusy, (PGconn *conn), conn)
FORWARD(int, PQnfields, (const PGresult *res), res)
FORWARD(PGnotify *, PQnotifies, (PGconn *conn), conn)
FORWARD(int, PQntuples, (const PGresult *res), res)
FORWARD(int, PQpipelineSync, (PGconn *conn), conn)
FORWARD(PGresult *, PQprepare,
    (PGconn *conn, const char *stmtName, const char *query, int nParams, const Oid *paramTypes),
    conn, stmtName, query, nParams, paramTypes)
FORWARD(char *, PQresultErrorField, (const PGresult *res, int fieldcode), res, fieldcode)
FORWARD(char *, PQresultErrorMessage, (const PGresult *res), res)
FORWARD(ExecStatusType, PQresultStatus, (const PGresult *res), res)
FORWARD(int, PQsendFlushRequest, (PGconn *conn), conn)
FORWARD(int, PQsendPrepare,
    (PGconn *conn, const char *stmtName, const char *query, int nParams, const Oid *paramTypes),
    conn, stmtName, query, nParams, paramTypes)
FORWARD(int, PQsendQuery, (PGconn *conn, const char *query), conn, query)
FORWARD(int, PQsendQueryParams,
    (PGconn *conn, const char *command, int nParams, const Oid *paramTypes, const char *const *paramValues,
     const int *paramLengths, const int *paramFormats, int resultFormat),
    conn, command, nParams, paramTypes, paramValues, paramLengths, paramFormats, resultFormat)
FORWARD(int, PQsendQueryPrepared,
    (PGconn *conn, const char *stmtName, int nParams, const char *const *paramValues, const int *paramLengths,
     const int *paramFormats, int resultFormat),
    conn, stmtName, nParams, paramValues, paramLengths, paramFormats, resultFormat)
FORWARD(PQnoticeReceiver, PQsetNoticeReceiver, (PGconn *conn, PQnoticeReceiver proc, void *arg), conn, proc, arg)
FORWARD(int, PQsetSingleRowMode, (PGconn *conn), conn)
FORWARD(int, PQsetnonblocking, (PGconn *conn, int arg), conn, arg)
FORWARD(int, PQsocket, (const PGconn *conn), conn)
FORWARD(ConnStatusType, PQstatus, (const PGconn *conn), conn)
FORWARD(PGTransactionStatusType, PQtransactionStatus, (const PGconn *conn), conn)
