import Foundation
import ParseProtocol
import Synchronization
import TestSupport
import Testing

/// A change through one gateway takes effect at the other before the call returns: sessions, webhooks and live queries.
/// This also holds while the writer of users is killed, and for a gateway that was stopped for longer than its leases
/// last.
@Suite(.serialized) struct GatewayRightsTests {
    /// Each user has several sessions, all from one address.
    private static let settings = ["SATCHEL_QUOTAS": "off"].merging(Suite.withoutWatchdog) { $1 }

    @Test func theCheckerFindsWhatIsHonouredTooLate() {
        let start = ContinuousClock.now
        func history(_ uses: [(Int, Int, Bool)]) -> RevocationHistory {
            var history = RevocationHistory()
            history.revokedAt = start + .seconds(10)
            history.uses = uses.map { .init(gateway: $0.0, begin: start + .seconds($0.1), isHonoured: $0.2) }
            return history
        }
        let fine = history([(1, 1, true), (2, 9, true), (1, 11, false), (2, 12, false)])
        #expect(fine.violations.isEmpty)
        #expect(fine.tells(of: 2))
        let late = history([(1, 1, true), (2, 9, true), (1, 11, false), (2, 12, true)])
        #expect(late.violations.map(\.gateway) == [2])
        #expect(!history([(1, 1, true), (1, 11, false)]).tells(of: 2))
    }

    @Test(.timeLimit(.minutes(10))) func aRevokedSessionIsDeadAtEveryGateway() async throws {
        try await Suite.with(scale: "gateway=2,users=2", settings: Self.settings) { suite in
            try await revokedSessionsAreDead(suite, killing: ["users-1", "users-2", "users-1"])
        }
    }

    /// The same when each replica of users revokes sessions. One of the replicas holds the gateways' leases.
    @Test(.timeLimit(.minutes(10))) func aRevokedSessionIsVoidAtEveryGateway() async throws {
        let settings = [
            "SATCHEL_USERS_DATABASE": try await PostgreSQLServer.shared.newDatabase(), "SATCHEL_USERS_WRITERS": "every",
        ]
        try await Suite.with(scale: "gateway=2,users=3", settings: Self.settings.merging(settings) { $1 }) { suite in
            try await eventually("three replicas take changes", within: .seconds(30)) {
                try await ParseClient(suite).call(.GET, "/health").json.at("services", "users", "current") == 3
            }
            try await revokedSessionsAreDead(suite, killing: ["users-1", "users-2", "users-3"])
        }
    }

    private func revokedSessionsAreDead(_ suite: Suite, killing replicas: [String]) async throws {
        let gateways = SeveralGateways(suite: suite)
        var customers: [Customer] = []
        for _ in 0..<3 { customers.append(try await Customer.signUp(suite)) }
        let calm = try await histories(gateways, customers, rounds: 8)
        let silent = calm.filter { !$0.tells(of: 2) }
        #expect(silent.isEmpty, "\(silent.map { ($0.revokedAt, $0.uses.count) })")
        #expect(calm.flatMap(\.violations).isEmpty)

        async let storm = histories(gateways, customers, rounds: 12)
        for replica in replicas {
            try await suite.kill(replica)
            try await suite.untilHealthy(replicas: ["users": Set(replicas).count])
        }
        let told = try await storm
        #expect(told.count { $0.tells(of: 2) } > told.count / 3, "Too few calls were answered to tell anything.")
        #expect(told.flatMap(\.violations).isEmpty)

        try await aGatewayThatStoodStillHonoursNothing(gateways)
    }

    /// Sessions of several customers, each used continuously at both gateways and revoked through one of them.
    private func histories(
        _ gateways: SeveralGateways, _ customers: [Customer], rounds: Int
    ) async throws -> [RevocationHistory] {
        try await withThrowingTaskGroup(of: [RevocationHistory].self) { group in
            for customer in customers {
                group.addTask {
                    var all: [RevocationHistory] = []
                    for round in 0..<rounds {
                        // While the writer of users is down, creating a session may fail.
                        if let history = try? await history(gateways, customer, way: round) { all.append(history) }
                    }
                    return all
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }

    private func history(
        _ gateways: SeveralGateways, _ customer: Customer, way: Int
    ) async throws -> RevocationHistory {
        let client = try await gateways.session(of: customer.userId)
        try await gateways.untilHonoured(client)
        let watch = Watch()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for gateway in [1, 2] {
                group.addTask {
                    var left = 8  // Requests after the call returned.
                    while left > 0 {
                        if watch.isOver.load(ordering: .sequentiallyConsistent) { left -= 1 }
                        let begin = ContinuousClock.now
                        guard let isHonoured = try await gateways.isHonoured(client, at: gateway) else { continue }
                        watch.history.withLock {
                            $0.uses.append(.init(gateway: gateway, begin: begin, isHonoured: isHonoured))
                        }
                    }
                }
            }
            // A session that was revoked before its first use proves nothing.
            try? await eventually("the session is used at both") {
                watch.history.withLock { history in
                    [1, 2].allSatisfy { gateway in
                        history.uses.contains { $0.gateway == gateway && $0.isHonoured }
                    }
                }
            }
            // After a failed revocation the state is unknown, so the history is not judged.
            let isRevoked = (try? await revoke(gateways, customer, client, way)) ?? false
            if isRevoked { watch.history.withLock { $0.revokedAt = .now } }
            watch.isOver.store(true, ordering: .sequentiallyConsistent)
            try await group.waitForAll()
        }
        return watch.history.withLock { $0 }
    }

    private final class Watch: Sendable {
        let history = Mutex(RevocationHistory())
        let isOver = Atomic(false)
    }

    /// - Returns: whether the session is certainly revoked.
    private func revoke(
        _ gateways: SeveralGateways, _ customer: Customer, _ client: ParseClient, _ way: Int
    ) async throws -> Bool {
        let master = ParseClient.master(gateways.suite)
        let gateway = way % 2 + 1
        let answer =
            switch way / 2 % 4 {
            case 0: try await gateways.call(gateway, client, .POST, "/logout", [:])
            case 1:
                try await gateways.call(
                    gateway, master, .POST, "/functions/revokeSessions", ["userId": .string(customer.userId)])
            case 2:
                try await gateways.call(
                    gateway, master, .PUT, "/users/\(customer.userId)", ["password": .string(Names.random(12))])
            default:
                try await gateways.call(
                    gateway, master, .DELETE,
                    "/sessions/\(gateways.call(gateway, client, .GET, "/sessions/me").objectId)")
            }
        return answer.status == 200
    }

    private func aGatewayThatStoodStillHonoursNothing(_ gateways: SeveralGateways) async throws {
        let customer = try await Customer.signUp(gateways.suite)
        for _ in 0..<2 {
            let client = try await gateways.session(of: customer.userId)
            try await gateways.untilHonoured(client)
            let answers = try await gateways.stopping(2) {
                let ended = try await gateways.call(1, client, .POST, "/logout", [:])
                #expect(ended.status == 200, "\(ended.text)")
            } after: {
                try await withThrowingTaskGroup(of: Bool?.self) { group in
                    for _ in 0..<8 { group.addTask { try await gateways.isHonoured(client, at: 2) } }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
            }
            #expect(answers.count == 8)
            #expect(!answers.contains(true))
            // The gateway continues with the other one.
            try await gateways.untilHonoured(gateways.session(of: customer.userId))
        }
    }

    // MARK: Webhooks

    @Test(.timeLimit(.minutes(10))) func aWebhookThatIsDeletedIsCalledByNoGateway() async throws {
        try await Peer.with("webhook.py") { peer in
            let settings = WebhookHost.settings(peer).merging(Self.settings) { $1 }
            try await Suite.with(scale: "gateway=2", settings: settings) { suite in
                let host = WebhookHost(suite: suite, peer: peer)
                for round in 0..<8 { try await deleteWebhook(host, by: round % 2 + 1, isStopped: false) }
                try await deleteWebhook(host, by: 1, isStopped: true)
            }
        }
    }

    /// - Parameter isStopped: whether the other gateway is stopped meanwhile.
    private func deleteWebhook(_ host: WebhookHost, by gateway: Int, isStopped: Bool) async throws {
        let (gateways, name) = (SeveralGateways(suite: host.suite), WebhookHost.name("price"))
        let guest = ParseClient(host.suite)
        try await host.function(name, ["json": ["success": 7]])
        for number in [1, 2] {
            let answer = try await gateways.call(number, guest, .POST, "/functions/\(name)", [:])
            #expect(answer.result == 7, "\(answer.text)")
        }
        @Sendable func remove() async throws {
            let removed = try await gateways.call(
                gateway, ParseClient.master(host.suite), .DELETE, "/hooks/functions/\(name)")
            #expect(removed.status == 200, "\(removed.text)")
        }
        @Sendable func calls() async throws -> [Int] {
            var statuses: [Int] = []
            for number in [1, 2, 1, 2] {
                statuses.append(try await gateways.call(number, guest, .POST, "/functions/\(name)", [:]).status)
            }
            return statuses
        }
        let statuses: [Int]
        if isStopped {
            statuses = try await gateways.stopping(3 - gateway, while: remove, after: calls)
        } else {
            try await remove()
            statuses = try await calls()
        }
        #expect(!statuses.contains(200))
        #expect(host.calls(name).count == 2)
    }

    // MARK: Live queries

    @Test(.timeLimit(.minutes(10))) func aRevokedSessionGetsNoEventsAtAnyGateway() async throws {
        try await Suite.with(scale: "gateway=2", settings: Self.settings) { suite in
            let gateways = SeveralGateways(suite: suite)
            let customer = try await Customer.signUp(suite)
            for gateway in [1, 2, 1] { try await endOfNews(gateways, customer, by: gateway) }
            try await noNewsAfterStandingStill(gateways, customer)
        }
    }

    private func note(_ gateways: SeveralGateways, _ name: String, _ n: Int64, for userId: String) async throws {
        let made = try await gateways.call(
            1, ParseClient.master(gateways.suite), .POST, "/classes/\(name)",
            ["n": .int(n), "ACL": .object([userId: ["read": true]])])
        guard made.status == 201 else { throw Unexpected("POST \(name)", made) }
    }

    private func listeners(
        _ gateways: SeveralGateways, _ client: ParseClient, _ name: String
    ) async throws -> [LiveConnection] {
        var all: [LiveConnection] = []
        for gateway in [1, 2] {
            let live = try await LiveConnection.connect(
                gateways.suite, ["sessionToken": client.sessionToken.map(JSON.string) ?? .null], gateway: gateway)
            let begun = try await live.subscribe(1, name)
            #expect(begun["op"] == "subscribed", "\(begun.serializedText)")
            all.append(live)
        }
        return all
    }

    /// Both gateways send events, and neither sends any after the call returned.
    private func endOfNews(_ gateways: SeveralGateways, _ customer: Customer, by gateway: Int) async throws {
        let client = try await gateways.session(of: customer.userId)
        let name = "Live\(Names.random(8))"
        let listeners = try await listeners(gateways, client, name)
        try await note(gateways, name, 1, for: customer.userId)
        for live in listeners {
            let event = try await live.nextEvent(of: 1)
            #expect(event.at("object", "n") == 1)
        }
        let ended = try await gateways.call(gateway, client, .POST, "/logout", [:])
        #expect(ended.status == 200, "\(ended.text)")
        try await note(gateways, name, 2, for: customer.userId)
        for live in listeners {
            let end = try await live.next()
            #expect(end["op"] == "unsubscribed", "\(end.serializedText)")
            // A later answer shows that no event came before it.
            let again = try await live.subscribe(2, name)
            #expect(again["code"] == 209)
            #expect(live.waiting.isEmpty)
        }
    }

    private func noNewsAfterStandingStill(_ gateways: SeveralGateways, _ customer: Customer) async throws {
        let client = try await gateways.session(of: customer.userId)
        let name = "Live\(Names.random(8))"
        let listeners = try await listeners(gateways, client, name)
        let news = try await gateways.stopping(2) {
            let ended = try await gateways.call(1, client, .POST, "/logout", [:])
            #expect(ended.status == 200, "\(ended.text)")
            try await note(gateways, name, 2, for: customer.userId)
        } after: {
            try await eventually("the subscriptions are over") {
                listeners.allSatisfy {
                    $0.isClosed || $0.waiting.contains { ["error", "unsubscribed"].contains($0.text("op")) }
                }
            }
            return listeners.flatMap(\.waiting)
        }
        #expect(!news.contains { $0["object"] != nil }, "\(news.map(\.serializedText))")
    }
}
