import Foundation
import ParseProtocol
import Synchronization
import TestSupport
import Testing

/// Linearizability: no read returns data older than what any client knew when the read began. Runs random concurrent
/// reads and writes with two replicas and kills the writing one. `AccountHistoryTests` has changes of sessions.
@Suite(.serialized) struct ReadCacheHistoryTests {
    /// `SATCHEL_HISTORY_SECONDS` makes the run longer and more thorough, at most an hour.
    private static let seconds =
        ProcessInfo.processInfo.environment["SATCHEL_HISTORY_SECONDS"].flatMap(Double.init) ?? 4

    /// - Parameter isServed: whether the catalog is in PostgreSQL.
    @Test(.timeLimit(.minutes(90)), arguments: [false, true])
    func readsAreLinearizableWhileWritersAreKilled(isServed: Bool) async throws {
        let database = isServed ? try await PostgreSQLServer.shared.newDatabase() : ""
        try await Suite.with(scale: "catalog=2", settings: ["SATCHEL_DATABASE": database]) { suite in
            try await suite.untilHealthy(replicas: ["catalog": 2])
            let recorder = ReadHistoryRecorder()
            let shelf = try await Registers.make(suite, count: 4, recorder)
            let customer = try await Customer.signUp(suite).client
            let clients = [
                ParseClient(suite), ParseClient(suite, style: .tunnelled), customer, ParseClient.master(suite),
            ]
            try await Self.kill("catalog", of: suite, recorder) { group, end in
                for id in shelf.ids { group.addTask { try await shelf.write(id, until: end) } }
                for client in clients {
                    for _ in 0..<2 { group.addTask { await shelf.read(by: client, until: end) } }
                }
            }
            #expect(recorder.recorded.violations.isEmpty, "\(recorder.recorded.violations)")
        }
    }

    /// The same for `GET /users/me`: each user is changed by the master key and read by two apps with one session.
    @Test(.timeLimit(.minutes(90)), arguments: [false, true])
    func accountsAreLinearizableWhileWritersAreKilled(isServed: Bool) async throws {
        let database = isServed ? try await PostgreSQLServer.shared.newDatabase() : ""
        try await Suite.with(scale: "users=2", settings: ["SATCHEL_DATABASE": database]) { suite in
            try await suite.untilHealthy(replicas: ["users": 2])
            let recorder = ReadHistoryRecorder()
            var customers: [Customer] = []
            for _ in 0..<4 { customers.append(try await Customer.signUp(suite)) }
            let users = Registers(
                className: "_User", ids: customers.map(\.userId), master: ParseClient.master(suite), recorder: recorder)
            let clients = customers.flatMap { customer in
                let token = customer.client.sessionToken
                return [customer.client, ParseClient(suite, sessionToken: token, style: .tunnelled)]
            }
            try await Self.kill("users", of: suite, recorder) { group, end in
                for id in users.ids { group.addTask { try await users.write(id, until: end) } }
                for client in clients {
                    for _ in 0..<2 { group.addTask { await users.readAccount(by: client, until: end) } }
                }
            }
            #expect(recorder.recorded.violations.isEmpty, "\(recorder.recorded.violations)")
        }
    }

    /// Kills the two replicas of a service in turn, while the tasks that `begin` adds run. They end when the time is
    /// over and the cache had a part in the history.
    private static func kill(
        _ service: String, of suite: Suite, _ recorder: ReadHistoryRecorder,
        while begin: (_ group: inout ThrowingTaskGroup<Void, any Error>, _ end: End) -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            let end = End()
            // Also after an error, so that the tasks end.
            defer { end.isReached.store(true, ordering: .relaxed) }
            let timeIsOver = ContinuousClock.now + .seconds(seconds)
            begin(&group, end)
            var killed = 0
            repeat {
                killed += 1
                // Either of the two replicas may be the writer.
                try await suite.kill("\(service)-\(killed % 2 + 1)")
                try await suite.untilHealthy(replicas: [service: 2])
            } while killed < 2 || ContinuousClock.now < timeIsOver
            try await eventually("the history has writes and uses of the cache") {
                let cache = try await ParseClient.master(suite).get("/serverInfo")["readCache"]
                let (hits, outdated) = (cache?["hits"]?.intValue ?? 0, cache?["invalidations"]?.intValue ?? 0)
                let writes = recorder.recorded.operations.count { $0.isWrite }
                return hits > 20 && outdated > 5 && writes > 20
            }
            end.isReached.store(true, ordering: .relaxed)
            try await group.waitForAll()
        }
    }
}

/// Tells the tasks of a history that it ends.
private final class End: Sendable {
    let isReached = Atomic(false)
}

/// Objects of one class, each with a growing version.
private struct Registers: Sendable {
    let className: String
    let ids: [String]
    let master: ParseClient
    let recorder: ReadHistoryRecorder

    static func make(_ suite: Suite, count: Int, _ recorder: ReadHistoryRecorder) async throws -> Registers {
        let master = ParseClient.master(suite)
        let className = "Register\(Names.random(8))"
        var ids: [String] = []
        for _ in 0..<count {
            let answer = try await master.create(className, ["version": 0])
            guard answer.status == 201 else { throw Unexpected("create", answer) }
            ids.append(answer.objectId)
        }
        return Registers(className: className, ids: ids, master: master, recorder: recorder)
    }

    /// Writes 1, 2, 3…, and repeats each until it is acknowledged; a repetition changes nothing.
    func write(_ id: String, until end: End) async throws {
        var version: Int64 = 0
        while !end.isReached.load(ordering: .relaxed) {
            version += 1
            let begin = recorder.now
            try await eventually("version \(version) is written", within: .seconds(60)) {
                let answer = try? await master.call(.PUT, "/classes/\(className)/\(id)", ["version": .int(version)])
                return answer?.status == 200
            }
            recorder.ended([id: version], isWrite: true, begin: begin)
            // The pause lets answers be cached and reused.
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...20)))
        }
    }

    /// Alternates reads of objects and pages. Reads that fail while a replica is down are not recorded.
    func read(by client: ParseClient, until end: End) async {
        var client = client
        client.timeout = .seconds(12)
        while !end.isReached.load(ordering: .relaxed) {
            let id = ids[Int.random(in: 0..<ids.count)]
            let begin = recorder.now
            let isPage = Int.random(in: 0..<3) == 0
            let path = isPage ? "/classes/\(className)" : "/classes/\(className)/\(id)"
            guard let answer = try? await client.get(path), answer.status == 200 else { continue }
            let objects = isPage ? answer.results : [answer.json]
            var versions: [String: Int64] = [:]
            for object in objects {
                if let id = object["objectId"]?.stringValue { versions[id] = object["version"]?.intValue }
            }
            recorder.ended(versions, isWrite: false, begin: begin)
        }
    }

    /// Reads the own account of a client, which is one of the objects.
    func readAccount(by client: ParseClient, until end: End) async {
        var client = client
        client.timeout = .seconds(12)
        while !end.isReached.load(ordering: .relaxed) {
            let begin = recorder.now
            guard let answer = try? await client.get("/users/me"), answer.status == 200,
                let version = answer["version"]?.intValue
            else { continue }
            recorder.ended([answer.objectId: version], isWrite: false, begin: begin)
        }
    }
}
