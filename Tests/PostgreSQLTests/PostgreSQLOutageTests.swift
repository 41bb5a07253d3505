import Foundation
import PostgreSQL
import Synchronization
import TestSupport
import Testing

/// Servers that are slow, stalled or ended, and how connections react.
@Suite struct PostgreSQLOutageTests {
    @Test func aDeadlineEndsAStatementAndNotTheConnection() async throws {
        let connection = try await Connections.shared()
        let start = ContinuousClock.now
        let error = failure {
            try connection.limited(to: .milliseconds(200)) { try connection.execute("SELECT pg_sleep(60)") }
        }
        #expect(error?.isTimedOut == true)
        #expect(error?.isCancelled == true)
        #expect(error?.isConnectionLost == false)
        #expect(ContinuousClock.now - start < .seconds(20))
        #expect(try connection.rows("SELECT 1") == [[.int(1)]])
    }

    @Test func aDeadlineEndsAScriptAndWhatIsQueued() async throws {
        let connection = try await Connections.shared()
        let scripted = failure {
            try connection.limited(to: .milliseconds(200)) { try connection.execute(script: "SELECT pg_sleep(60)") }
        }
        #expect(scripted?.isTimedOut == true)
        try connection.begin()
        let queued = failure {
            try connection.limited(to: .milliseconds(200)) {
                try connection.enqueue("SELECT pg_sleep(60)")
                try connection.execute("SELECT 2")
            }
        }
        #expect(queued?.isTimedOut == true)
        try connection.rollback()
        #expect(try connection.rows("SELECT 1") == [[.int(1)]])
    }

    @Test func aDeadlineEndsAnAnswerThatKeepsComing() async throws {
        let connection = try await Connections.shared()
        let statement = try connection.statement("SELECT i FROM generate_series(1, 100000000000) i")
        statement.streams = true
        let error = failure { try connection.limited(to: .milliseconds(200)) { while try statement.step() {} } }
        #expect(error?.isTimedOut == true)
        #expect(try connection.rows("SELECT 1") == [[.int(1)]])
    }

    @Test func aDeadlineThatIsOverSendsNothing() async throws {
        let connection = try await Connections.shared()
        let before = connection.roundTrips
        let error = failure {
            try connection.limited(to: .zero) {
                try connection.limited(to: .seconds(60)) { try connection.execute("SELECT 1") }
            }
        }
        #expect(error?.isTimedOut == true)
        #expect(connection.roundTrips == before)
        #expect(try connection.rows("SELECT 1") == [[.int(1)]])
    }

    /// Such a server does not react to a cancel request either.
    @Test func aStalledServerTimesOut() async throws {
        let connection = try await Connections.shared()
        let process = connection.serverProcess
        #expect(process > 0)
        #expect(kill(process, SIGSTOP) == 0)
        defer { kill(process, SIGCONT) }
        let start = ContinuousClock.now
        let error = failure {
            try connection.limited(to: .milliseconds(200)) { try connection.execute("SELECT 1") }
        }
        #expect(error?.isTimedOut == true)
        #expect(connection.isBroken)
        #expect(ContinuousClock.now - start < .seconds(30))
    }

    @Test func anotherThreadEndsAStatement() async throws {
        let connection = try await Connections.shared()
        let canceller = connection.canceller
        let isOver = Mutex(false)
        defer { isOver.withLock { $0 = true } }
        Thread.detachNewThread {
            // A cancel request may arrive before the statement and then has no effect.
            while !isOver.withLock({ $0 }) {
                canceller.cancel()
                usleep(50_000)
            }
        }
        let error = failure { while true { try connection.execute("SELECT pg_sleep(60)") } }
        #expect(error?.isCancelled == true)
        #expect(error?.isTimedOut == false)
        #expect(!connection.isBroken)
    }

    @Test func aConnectionThatTheServerEndsIsLost() async throws {
        let (connection, other) = try await Connections.pair()
        #expect(try connection.rows("SELECT 1") == [[.int(1)]])
        let ended = try other.rows("SELECT pg_terminate_backend($1, 10000)", [.int(Int64(connection.serverProcess))])
        #expect(ended == [[.int(1)]])
        try connection.enqueue("SELECT 2")
        let error = failure { try connection.execute("SELECT 3") }
        #expect(error?.isConnectionLost == true)
        #expect(connection.isBroken)
        #expect(!connection.isInTransaction)
        #expect(failure { try connection.execute("SELECT 4") }?.isConnectionLost == true)
    }

    @Test func aConnectionThatEndsItselfInAPipelineIsLost() async throws {
        let connection = try await Connections.shared()
        try connection.enqueue("SELECT pg_terminate_backend(pg_backend_pid())")
        let statement = try connection.statement("SELECT 1")
        try statement.send()
        let error = failure { _ = try statement.step() }
        #expect(error?.isConnectionLost == true)
        #expect(error?.state == "57P01")
    }

    @Test func aServerThatIsKilledIsLostAndComesBack() async throws {
        try await PostgreSQLServer.with { server in
            let target = PostgreSQLTarget(try await server.newDatabase(), connectSeconds: 30)
            let connection = try PostgreSQLConnection(target)
            try connection.execute("CREATE TABLE kept(a bigint)")
            let listener = try PostgreSQLConnection(target)
            try listener.execute("LISTEN news")
            try await server.kill()
            let error = failure { try connection.execute("SELECT pg_sleep(60)") }
            #expect(error?.isConnectionLost == true)
            let unheard = failure { while true { _ = try listener.notifications(waiting: .seconds(5)) } }
            #expect(unheard?.isConnectionLost == true)
            let refused = failure { _ = try PostgreSQLConnection(target) }
            #expect(refused?.isConnectionLost == true)
            try await server.resume()
            #expect(try PostgreSQLConnection(target).rows("SELECT count(*) FROM kept") == [[.int(0)]])
        }
    }

    /// The ways to commit.
    enum Committing: CaseIterable {
        case commit, statement, script

        func run(_ connection: PostgreSQLConnection) throws(PostgreSQLError) {
            switch self {
            case .commit:
                try connection.begin()
                try connection.execute("INSERT INTO kept VALUES (1)")
                try connection.commit()
            case .statement: try connection.execute("INSERT INTO kept VALUES (1)")
            case .script: try connection.execute(script: "INSERT INTO kept VALUES (1); SELECT 1")
            }
        }
    }

    /// A commit waits for a standby that never comes, until it is cancelled. The server then reports it as committed.
    @Test(arguments: Committing.allCases)
    func aCommitThatIsOnOneServerAloneIsNotDone(way: Committing) async throws {
        try await PostgreSQLServer.with { server in
            let target = PostgreSQLTarget(try await server.newDatabase(), connectSeconds: 30)
            try PostgreSQLConnection(target).execute("CREATE TABLE kept(a bigint)")
            _ = try await server.run("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
            _ = try await server.run("SELECT pg_reload_conf()")
            let other = Impatient(target)
            defer { other.end() }
            // The server applies the setting with a delay.
            try await eventually("a commit is not done") {
                let connection = try PostgreSQLConnection(target)
                guard let error = failure({ try way.run(connection) }) else { return false }
                #expect(error.state == "08007")
                #expect(error.isConnectionLost)
                #expect(connection.isBroken)
                return true
            }
        }
    }

    /// Cancels commits that wait for a standby, on another thread.
    private final class Impatient: Sendable {
        private let isOver = Mutex(false)

        init(_ target: PostgreSQLTarget) {
            Thread.detachNewThread { [self] in
                guard let connection = try? PostgreSQLConnection(target) else { return }
                while !isOver.withLock({ $0 }) {
                    _ = try? connection.rows(
                        "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
                    usleep(50_000)
                }
            }
        }

        func end() { isOver.withLock { $0 = true } }
    }

    @Test func aServerThatOnlyReadsIsNotTaken() async throws {
        let string =
            try await PostgreSQLServer.shared.connection(to: "postgres")
            + "&target_session_attrs=any&options=-c%20default_transaction_read_only%3Don"
        #expect(try PostgreSQLConnection(PostgreSQLTarget(string)).rows("SELECT 1") == [[.int(1)]])
        let refused = failure { _ = try PostgreSQLConnection(PostgreSQLTarget(string, onlyWritable: true)) }
        #expect(refused?.isConnectionLost == true)
    }

    @Test func theNextHostIsTakenWhenTheFirstIsDown() async throws {
        let server = try await PostgreSQLServer.shared
        let string = server.connection(to: "postgres").replacing("host=", with: "host=/tmp/nowhere,")
        let connection = try PostgreSQLConnection(
            PostgreSQLTarget(string + "&target_session_attrs=read-write", connectSeconds: 30))
        #expect(try connection.rows("SELECT 1") == [[.int(1)]])
    }

    @Test func theNextHostIsTakenWhenTheFirstSaysNothing() async throws {
        let silent = try ScriptedServer()
        let string = try await PostgreSQLServer.shared.connection(to: "postgres")
            .replacing("host=", with: "host=\(silent.folder),")
        let connection = try PostgreSQLConnection(PostgreSQLTarget(string, connectSeconds: 2))
        #expect(try connection.rows("SELECT 1") == [[.int(1)]])
    }
}
