import Foundation
import ParseProtocol
import TestSupport
import Testing

/// One order of all writes explains the events of every subscriber. Covers random writes, changing rights, slow
/// clients, reconnections with a cursor, a revoked session, and two killed replicas.
@Suite(.serialized) struct LiveRandomHistoryTests {
    private static let environment = ProcessInfo.processInfo.environment
    /// Longer runs are more thorough.
    private static let seconds = environment["SATCHEL_HISTORY_SECONDS"].flatMap(Double.init) ?? 4
    private static let seed = environment["SATCHEL_HISTORY_SEED"].flatMap { UInt64($0) } ?? .random(in: 0..<1 << 32)

    @Test(.timeLimit(.minutes(120))) func eachSubscriberIsToldExactlyWhatItsQueryAndRightsImply() async throws {
        let settings = [
            "SATCHEL_QUOTAS": "classes=off;fields=off", "SATCHEL_LIVE_QUEUE_BYTES_MAX": "65536",
        ]
        try await Suite.with(scale: "catalog=2", settings: settings) { suite in
            try await suite.untilHealthy(replicas: ["catalog": 2])
            let end = ContinuousClock.now + .seconds(Self.seconds)
            var seed = Self.seed
            repeat {
                print("A random history of live queries: SATCHEL_HISTORY_SEED=\(seed)")
                let history = try await HistoryRound(suite, seed: seed).run()
                #expect(history.contradictions == [], "SATCHEL_HISTORY_SEED=\(seed)")
                #expect(history.writes.count > 100)
                #expect(history.listenings.reduce(0) { $0 + $1.events.count } > 300)
                #expect(history.listenings.contains { !$0.resumed.isEmpty }, "Somebody came back with a cursor.")
                #expect(history.listenings.contains { $0.end == .cut }, "A writer died.")
                seed += 1
            } while ContinuousClock.now < end
        }
    }
}

/// One history with its own class, users and role.
private struct HistoryRound: Sendable {
    private static let seconds = 4.0
    private static let writers = 4
    /// A slow machine takes longer than the minimum time.
    private static let writesMin = 400

    private let suite: Suite
    private let master: ParseClient
    private let seed: UInt64
    private let className = "Live\(Names.random(8))"
    private let role = "live\(Names.random(8))"
    private let recorder: HistoryRecorder

    init(_ suite: Suite, seed: UInt64) {
        self.suite = suite
        self.seed = seed
        master = .master(suite)
        recorder = HistoryRecorder(role: role)
    }

    /// The first two users gain and lose a role; the third user's session is revoked.
    private static let subscribers: [HistorySubscriber] = [
        .init(name: "the operator", account: .master),
        .init(name: "a guest", account: .guest, query: .kind, keys: ["version", "kind"]),
        .init(name: "a guest's stream", account: .guest, keys: ["version", "score"], isStream: true),
        .init(name: "a guest who comes and goes", account: .guest, query: .other, leaves: true),
        .init(name: "the first user", account: .user(0), keys: ["version", "tags"]),
        .init(name: "the first user's stream", account: .user(0), query: .score, isStream: true, leaves: true),
        .init(name: "the second user", account: .user(1), query: .tag, keys: ["version", "tags"]),
        .init(name: "the second user, of scores", account: .user(1), watch: ["score"]),
        .init(name: "the third user", account: .user(2)),
        .init(name: "the third user's stream", account: .user(2), query: .either, isStream: true),
        .init(name: "a slow operator", account: .master, keys: [], isSlow: true),
        .init(name: "a slow user", account: .user(3), keys: [], isSlow: true),
        .init(name: "a slow stream", account: .master, query: .score, keys: [], isStream: true, isSlow: true),
    ]

    func run() async throws -> LiveHistory {
        let users = try await signUp(count: 4)
        let made = try await master.call(.POST, "/roles", ["name": .string(role), "ACL": ["*": ["read": true]]])
        guard made.status == 201 else { throw Unexpected("POST roles", made) }
        let place = HistorySubscriber.Place(suite: suite, className: className, recorder: recorder, users: users)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for subscriber in Self.subscribers { group.addTask { try await subscriber.run(place) } }
            group.addTask {
                try await change(users, roleId: made.objectId)
                recorder.finishWriting()
                try await finish()
            }
            // An error in one task ends the others, which would otherwise wait forever.
            while try await group.next() != nil {}
        }
        return recorder.recorded
    }

    private func signUp(count: Int) async throws -> [Customer] {
        var users: [Customer] = []
        for _ in 0..<count { users.append(try await Customer.signUp(suite)) }
        return users
    }

    /// Writes, changes rights and kills replicas until the time is over.
    private func change(_ users: [Customer], roleId: String) async throws {
        let own = users.map { JSON.object([$0.userId: ["read": true]]) }
        let everybody: JSON = ["*": ["read": true]]
        let accesses = own + [everybody, everybody, [:], .object(["role:\(role)": ["read": true]])]
        let end = ContinuousClock.now + .seconds(Self.seconds)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<Self.writers {
                group.addTask {
                    var writer = writer(number, accesses)
                    while ContinuousClock.now < end || recorder.writeCount < Self.writesMin {
                        try await writer.step()
                    }
                }
            }
            group.addTask {
                // Either of the two replicas may be the writer.
                for replica in ["catalog-1", "catalog-2"] {
                    try await Task.sleep(for: .seconds(Self.seconds / 4))
                    try await suite.kill(replica)
                    try await suite.untilHealthy(replicas: ["catalog": 2])
                }
            }
            group.addTask { try await giveAndTakeRole(users, roleId, until: end) }
            group.addTask {
                try await Task.sleep(for: .seconds(Self.seconds / 2))
                let begin = recorder.now
                let answer = try await users[2].client.call(.POST, "/logout")
                guard answer.status == 200 else { throw Unexpected("POST logout", answer) }
                recorder.revoked(2, from: begin)
            }
            try await group.waitForAll()
        }
        // Some more writes after the last kill.
        var last = writer(Self.writers, accesses)
        for _ in 0..<50 { try await last.step() }
    }

    private func writer(_ number: Int, _ accesses: [JSON]) -> HistoryWriter {
        HistoryWriter(
            "w\(number)", suite, className: className, accesses: accesses, recorder, seed &+ UInt64(number) << 32)
    }

    private func giveAndTakeRole(
        _ users: [Customer], _ roleId: String, until end: ContinuousClock.Instant
    ) async throws {
        var random = Seeded(seed)
        var isMember = [false, false]
        while ContinuousClock.now < end {
            let user = Int.random(in: 0..<2, using: &random)
            isMember[user].toggle()
            let change: JSON = [
                "users": [
                    "__op": isMember[user] ? "AddRelation" : "RemoveRelation", "objects": [users[user].pointer],
                ]
            ]
            let (begin, meter) = (recorder.now, StallMeter())
            let answer = try await master.call(.PUT, "/roles/\(roleId)", change)
            guard answer.status == 200 else { throw Unexpected("PUT roles", answer) }
            recorder.changed(user, isMember: isMember[user], from: begin)
            // If a change arrives before the previous one was looked up, the two count as one. The look-up takes about
            // as long as the change: a slow machine gets more time.
            let slowness = min(meter.elapsed * 10, Duration.seconds(5))
            let pause = Duration.milliseconds(Int.random(in: 800...1600, using: &random)) + slowness
            let pausing = StallMeter()
            while pausing.elapsed < pause { try await Task.sleep(for: .milliseconds(50)) }
        }
    }

    /// Creates objects that match every query until every subscriber has seen one. Then all earlier events were
    /// delivered.
    private func finish() async throws {
        try await eventually("every subscriber is told of the last objects", within: .seconds(120)) {
            for query in HistoryQuery.each {
                var object = query.example
                object["version"] = HistorySubscriber.lastVersion
                _ = try? await master.create(className, .object(object))
            }
            return recorder.doneCount == Self.subscribers.count
        }
    }
}
