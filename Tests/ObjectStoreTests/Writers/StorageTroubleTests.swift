import Logging
import ObjectStore
import Synchronization
import Testing

/// Which engine failures are temporary trouble. Clients then learn that the request had no effect.
@Suite struct StorageTroubleTests {
    @Test(arguments: [
        ("53100", StorageTrouble.full), ("53000", .outOfResources), ("53200", .outOfResources),
        ("53400", .outOfResources), ("58030", .failing), ("57P03", .unreachable), ("57P05", .unreachable),
        ("53300", .noConnection), ("25006", .readOnlyServer), ("08006", .unreachable),
    ])
    func aServersTroublePasses(state: String, trouble: StorageTrouble) {
        #expect(StorageTrouble(StoreError(sqlState: state, message: "")) == trouble)
    }

    /// libpq's messages; only they tell why PostgreSQL 15 refused a connection.
    @Test(arguments: [
        ("Connection refused; Is the server running on that host?", StorageTrouble.unreachable),
        ("FATAL:  sorry, too many clients already", .noConnection),
        ("FATAL:  too many connections for role \"shop\"", .noConnection),
        ("FATAL:  remaining connection slots are reserved for non-replication superuser connections", .noConnection),
        ("session is read-only", .readOnlyServer),
    ])
    func aRefusedConnectionHasItsOwnTrouble(reason: String, trouble: StorageTrouble) {
        let message = "connection to server on socket \"/run/.s.PGSQL.5432\" failed: \(reason)"
        #expect(StorageTrouble(StoreError(sqlState: "08001", message: message)) == trouble)
    }

    @Test func aStandbyWhosePrimaryIsGoneIsNoReadOnlyServer() {
        let message = """
            connection to server at "db1" (10.0.0.1), port 5432 failed: Connection refused
            connection to server at "db2" (10.0.0.2), port 5432 failed: session is read-only
            """
        #expect(StorageTrouble(StoreError(sqlState: "08001", message: message)) == .unreachable)
    }

    @Test func fullConnectionsAndAReadOnlyServerHaveTheirOwnRemedies() {
        #expect(StorageTrouble.noConnection.remedy(for: "shop").contains("max_connections"))
        #expect(StorageTrouble.readOnlyServer.remedy(for: "shop").contains("default_transaction_read_only"))
    }

    @Test(arguments: ["42601", "23505", "40001", "22P02", "XX000"])
    func whatIsWrongWithAStatementDoesNot(state: String) {
        #expect(StorageTrouble(StoreError(sqlState: state, message: "")) == nil)
    }

    @Test(arguments: [
        (Int32(13), StorageTrouble.full), (10, .failing), (14, .failing), (266, .failing), (8, .readOnly),
        (1032, .readOnly), (3, .forbidden), (11, .damaged), (26, .damaged),
        (267, .index),
    ])
    func aFilesTroublePasses(code: Int32, trouble: StorageTrouble) {
        #expect(StorageTrouble(StoreError(resultCode: code, message: "")) == trouble)
    }

    @Test func aDamagedIndexLeavesTheServiceInUse() {
        let health = StorageHealth(path: "shop.sqlite", logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let count = Mutex(0)
        health.onTrouble { count.withLock { $0 += 1 } }
        for _ in 0..<3 { #expect(health.note(StoreError(resultCode: 267, message: "")) == .index) }
        #expect(health.trouble == nil)
        #expect(count.withLock { $0 } == 0)
    }

    /// A client that reads a damaged page while the disk is full must not flood the log, nor must the recovery of the
    /// disk end the warning of damage.
    @Test func damageOutlastsOtherTroubleAndIsLoggedOnce() {
        let count = Mutex(0)
        let health = StorageHealth(path: "shop.sqlite", logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        health.onTrouble { count.withLock { $0 += 1 } }
        for _ in 0..<3 {
            health.note(StoreError(resultCode: 11, message: ""))
            health.note(StoreError(resultCode: 13, message: ""))
        }
        #expect(health.trouble == .full)
        #expect(count.withLock { $0 } == 2)
        health.recovered()
        #expect(health.trouble == .damaged)
        health.recovered()
        #expect(health.trouble == .damaged)
    }
}
