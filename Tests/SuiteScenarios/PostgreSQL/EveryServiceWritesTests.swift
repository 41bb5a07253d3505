import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Suites in PostgreSQL in which every replica of every service writes: sign-ins, devices, payments, mails, events and
/// reports, also when one of the replicas is killed.
@Suite(.serialized) struct EveryServiceWritesTests {
    private static func with(
        scale: String, settings: [String: String] = [:], _ body: (Suite) async throws -> Void
    ) async throws {
        let usual = [
            "SATCHEL_DATABASE": try await PostgreSQLServer.shared.newDatabase(), "SATCHEL_WRITERS": "every",
            "SATCHEL_QUOTAS": "off", "SATCHEL_MAILS_PER_RECIPIENT": "0", "SATCHEL_MAILS_PER_USER": "0",
            "SATCHEL_TRUSTED_PROXIES": "127.0.0.1", "SATCHEL_WATCHDOG": "off",
        ]
        let replicas = Dictionary(
            uniqueKeysWithValues: scale.split(separator: ",").map { part in
                let (name, count) = (part.prefix { $0 != "=" }, part.drop { $0 != "=" }.dropFirst())
                return (String(name), Int(count) ?? 1)
            })
        try await Suite.with(scale: scale, settings: usual.merging(settings) { $1 }) { suite in
            try await untilAllWrite(suite, replicas.filter { $0.key != "gateway" })
            try await body(suite)
        }
    }

    private static func untilAllWrite(_ suite: Suite, _ replicas: [String: Int]) async throws {
        try await suite.untilHealthy(replicas: replicas)
        try await eventually("all replicas take changes", within: .seconds(60)) {
            let health = try await ParseClient(suite).call(.GET, "/health").json
            return replicas.allSatisfy { service, count in
                health.at("services", .member(service), "current")?.intValue == Int64(count)
            }
        }
    }

    /// Every process except the gateway is killed once, in turn, while customers buy. The books balance, and each order
    /// is charged, mailed, counted and reported once.
    @Test(.timeLimit(.minutes(10))) func booksBalanceWhenAnyProcessIsKilled() async throws {
        let services = ["catalog", "users", "bag", "payments", "mail", "push", "analytics", "crash"]
        try await Self.with(scale: services.map { "\($0)=2" }.joined(separator: ",")) { suite in
            let shelf = try await Shelf.fill(
                suite, names: (0..<4).map { "Item \($0) \(Names.random(4))" }, stock: 1_000_000)
            let crowd = try await Crowd(suite, shelf: shelf, count: 4)
            crowd.gatewayMayFail()
            try await crowd.buyWhile {
                for replica in services.flatMap({ service in (1...2).map { "\(service)-\($0)" } }) {
                    try await suite.kill(replica)
                    let answered = crowd.checkouts
                    try await eventually("customers go on after \(replica)", within: .seconds(60)) {
                        crowd.checkouts >= answered + 2
                    }
                }
            }
            try await suite.untilHealthy(replicas: Dictionary(uniqueKeysWithValues: services.map { ($0, 2) }))
            try await crowd.verify()
        }
    }

    /// When the replica that drives a checkout is killed, the replica that gets the retry continues it and returns the
    /// same receipt.
    @Test(.timeLimit(.minutes(10))) func aCheckoutGoesOnElsewhere() async throws {
        try await Self.with(scale: "bag=3") { suite in
            let shelf = try await Shelf.fill(suite, names: ["Thing \(Names.random(4))"], stock: 1000)
            let customers = try await Self.together(12) { _ in try await Customer.signUp(suite) }
            _ = try await Self.together(customers.count) {
                try await customers[$0].client.run("addToBag", ["productId": .string(shelf.productIds[0])])
            }
            // Pauses payments until the replicas that wait for it are killed.
            let payments = try #require(suite.processId(of: "payments-1"))
            Foundation.kill(payments, SIGSTOP)
            defer { Foundation.kill(payments, SIGCONT) }
            let waiting = Task {
                try await Self.together(customers.count) { number in
                    try await Self.untilAnswered {
                        try await customers[number].client.run(
                            "checkout",
                            ["tokenId": "tok_visa", "idempotencyKey": "once", "shippingAddress": Customer.address])
                    }
                }
            }
            try await eventually("all wait for their payment") {
                let running = try await suite.rows(
                    "bag", "SELECT DISTINCT driver FROM checkouts WHERE state = 'reserved'")
                let count = try await suite.rows("bag", "SELECT count(*) FROM checkouts WHERE state = 'reserved'")
                // A hash of the customer chooses the replica. At least one of two drivers is killed.
                return running.count > 1 && count.first?.at(0)?.intValue == Int64(customers.count)
            }
            for replica in ["bag-2", "bag-3"] { try await suite.kill(replica) }
            Foundation.kill(payments, SIGCONT)
            let receipts = try await waiting.value
            #expect(
                receipts.count { $0.status == 200 } == customers.count, "\(Set(receipts.map { $0.text.prefix(120) }))")
            let again = try await Self.together(customers.count) { number in
                try await Self.untilAnswered {
                    try await customers[number].client.run(
                        "checkout",
                        ["tokenId": "tok_visa", "idempotencyKey": "once", "shippingAddress": Customer.address])
                }
            }
            #expect(again.map(\.text) == receipts.map(\.text))
            let charges = try await suite.rows("payments", "SELECT count(*) FROM charges WHERE state = 'succeeded'")
            #expect(charges.first?.at(0)?.intValue == Int64(customers.count))
        }
    }

    /// A replica that ends leaves its refund pending. The leader continues it, also when it has led for long.
    @Test(.timeLimit(.minutes(5))) func aRefundOfAnEndedReplicaIsFinished() async throws {
        try await Self.with(scale: "bag=2") { suite in
            let shelf = try await Shelf.fill(suite, names: ["Left \(Names.random(4))"])
            let customer = try await Customer.signUp(suite)
            _ = try await customer.client.run("addToBag", ["productId": .string(shelf.productIds[0])])
            let receipt = try await customer.client.run(
                "checkout", ["tokenId": "tok_visa", "shippingAddress": Customer.address])
            try #require(receipt.status == 200, "\(receipt.text)")
            let orders = try await ParseClient.master(suite).find("Order", ["orderStatus": 1]).results
            let order = try #require(orders.first).objectId
            // As if the replica had ended when it had asked payments.
            try await suite.tamper(
                "bag",
                """
                INSERT INTO refunds(id, orderId, checkoutId, purpose, amount, reason, restock, state, createdAt,
                changedAt) SELECT 'rf_left', orderId, id, 'refund', 100, '', 0, 'pending', createdAt, createdAt
                FROM checkouts WHERE state = 'made'
                """)
            try await eventually("the refund is finished") {
                try await ParseClient.master(suite).get("/classes/Order/\(order)")["refundedTotal"] == 100
            }
        }
    }

    // MARK: Messages and mails

    /// The replica that stored a message delivers it, and the replica that queued a mail sends it. A stopped replica,
    /// even the leader, delays no orders of others.
    @Test(.timeLimit(.minutes(10))) func aStalledReplicaDelaysNoOrderMail() async throws {
        try await Self.with(scale: "bag=2,mail=2") { suite in
            let shelf = try await Shelf.fill(suite, names: ["Thing \(Names.random(4))"], stock: 1000)
            let customer = try await Customer.signUp(suite)
            for replica in ["bag-1", "bag-2", "mail-1", "mail-2"] {
                let process = try #require(suite.processId(of: replica))
                Foundation.kill(process, SIGSTOP)
                defer { Foundation.kill(process, SIGCONT) }
                let order: [(String, JSON)] = [
                    ("addToBag", ["productId": .string(shelf.productIds[0])]),
                    (
                        "checkout",
                        [
                            "tokenId": "tok_visa", "idempotencyKey": .string(replica),
                            "shippingAddress": Customer.address,
                        ]
                    ),
                ]
                var answer = JSON.null
                for (function, parameters) in order {
                    let given = try await Self.untilAnswered { try await customer.client.run(function, parameters) }
                    #expect(given.status == 200, "\(function) without \(replica): \(given.text)")
                    answer = given.result
                }
                let number = try #require(answer["orderNo"]?.intValue)
                try await eventually("order \(number) is mailed without \(replica)", within: .seconds(60)) {
                    try await suite.rows("mail", "SELECT state FROM mails WHERE orderNo = \(number)") == [["sent"]]
                }
                Foundation.kill(process, SIGCONT)
                try await Self.untilAllWrite(suite, ["bag": 2, "mail": 2])
            }
        }
    }

    /// Several processes send from one queue, and send each mail once.
    @Test(.timeLimit(.minutes(10))) func everyMailIsSentOnce() async throws {
        let settings = [
            "SATCHEL_DATABASE": try await PostgreSQLServer.shared.newDatabase(), "SATCHEL_WRITERS": "every",
            "SATCHEL_QUOTAS": "off", "SATCHEL_TRUSTED_PROXIES": "127.0.0.1", "SATCHEL_VERIFY_EMAIL": "true",
            "SATCHEL_PASSWORD_WORK": "1", "SATCHEL_MAIL_CONNECTIONS": "1",
        ]
        try await MailSuite.with(pause: "0.4", scale: "mail=3,users=2", settings) { suite, peer in
            try await Self.untilAllWrite(suite, ["mail": 3, "users": 2])
            let addresses = (0..<60).map { "ann-\($0)-\(Names.random(6).lowercased())@customers.example" }
            let answers = try await Self.together(addresses.count) { number in
                try await Self.untilAnswered {
                    try await Self.post(
                        suite, from: number, "/users",
                        [
                            "username": .string(addresses[number]), "email": .string(addresses[number]),
                            "password": "a-long-secret",
                        ])
                }
            }
            #expect(answers.allSatisfy(Self.isSignedUp), "\(Set(answers.map { $0.text.prefix(120) }))")
            try await eventually("all are sent", within: .seconds(60)) {
                let left = try await suite.rows("mail", "SELECT count(*) FROM mails WHERE state = 'sent'")
                return left.first?.at(0)?.intValue == Int64(addresses.count)
            }
            let mails = peer.reports().filter { $0["event"] == "mail" }
            let mailed = mails.compactMap { $0["envelopeTo"]?.at(0)?.stringValue }
            #expect(mailed.count == addresses.count)
            #expect(Set(mailed) == Set(addresses))
            // Each sender has one connection at a time.
            let times = mails.compactMap { mail -> (began: Double, ended: Double)? in
                guard let began = mail["took"]?.at(0)?.doubleValue, let ended = mail["took"]?.at(1)?.doubleValue
                else { return nil }
                return (began, ended)
            }
            let most = times.map { one in times.count { $0.began <= one.began && one.began < $0.ended } }.max()
            // The third sender may be late on a busy machine.
            #expect((2...3).contains(try #require(most)))
        }
    }

    // MARK: Users

    /// One of several concurrent sign-ups with one name succeeds. Each replica handles sign-up and sign-in, and wrong
    /// passwords count on every replica.
    @Test(.timeLimit(.minutes(10))) func everyReplicaSignsIn() async throws {
        try await Self.with(scale: "users=3", settings: ["SATCHEL_PASSWORD_WORK": "1"]) { suite in
            let writers = WritingProcesses(suite, "users")
            let name = "one-\(Names.random(8))"
            let wanted = try await Self.together(30) { number in
                try await Self.untilAnswered {
                    try await Self.post(
                        suite, from: number, "/users", ["username": .string(name), "password": "a-long-secret"])
                }
            }
            #expect(wanted.count { $0.status == 201 } == 1, "\(Set(wanted.map { $0.text.prefix(120) }))")
            #expect(wanted.count { $0.code == 202 } == 29)

            let people = try await Self.together(48) { number in
                try await Self.untilAnswered {
                    try await Self.post(
                        suite, from: number, "/users",
                        ["username": .string("\(name)-\(number)"), "password": "a-long-secret"])
                }
            }
            #expect(people.allSatisfy(Self.isSignedUp), "\(Set(people.map { $0.text.prefix(120) }))")
            try await eventually("each replica has signed somebody in", within: .seconds(60)) {
                let sessions = try await Self.together(48) { number in
                    let opened = try await Self.untilAnswered {
                        try await Self.post(
                            suite, from: number, "/login",
                            ["username": .string("\(name)-\(number)"), "password": "a-long-secret"])
                    }
                    let mine = ParseClient(suite, sessionToken: opened["sessionToken"]?.stringValue)
                    return try await mine.call(.GET, "/users/me").status
                }
                #expect(sessions.allSatisfy { $0 == 200 })
                return writers.seen >= 3
            }
            try await writers.stop()

            // Each attempt comes from another address: every replica gets some, and all count against the account.
            let victim = "\(name)-0"
            var answers: [Int: Int] = [:]
            for number in 100..<160 {
                let tried = try await Self.untilAnswered(but: 200...499) {
                    try await Self.post(
                        suite, from: number, "/login", ["username": .string(victim), "password": "a-wrong-secret"])
                }
                answers[tried.text.contains("locked") ? 1 : 0, default: 0] += 1
            }
            #expect(answers[1, default: 0] > 0, "Strangers were never locked out: \(answers)")
        }
    }

    /// A name that is taken (202) was taken by an earlier attempt that timed out (124): no two clients share a name.
    private static func isSignedUp(_ answer: ParseClient.Answer) -> Bool { answer.status == 201 || answer.code == 202 }

    private static func address(_ number: Int) -> String { "100.64.\(number).1" }

    /// A request from a client in a separate network.
    private static func post(
        _ suite: Suite, from number: Int, _ path: String, _ body: JSON
    ) async throws -> ParseClient.Answer {
        let client = ParseClient(suite)
        let place = ("X-Forwarded-For", address(number))
        return try await client.send(
            .POST, path, headers: client.credentials + [place, ("Content-Type", "application/json")],
            body: body.serialized)
    }

    // MARK: Counts

    /// Events and reports that all replicas accept are counted once each.
    @Test(.timeLimit(.minutes(10))) func whatEveryReplicaTakesIsCountedOnce() async throws {
        let settings = ["SATCHEL_CRASH_REPORTS_PER_MINUTE": "100000"]
        try await Self.with(scale: "analytics=3,crash=3,push=2", settings: settings) { suite in
            let name = "Tap\(Names.random(8))"
            let project = try await CrashProject.create(suite)
            var sent: Int64 = 0
            try await eventually("each replica has taken something", within: .seconds(60)) {
                let taken = try await Self.together(60) { number in
                    try await Self.untilAnswered {
                        try await Self.post(suite, from: number, "/events/\(name)", ["dimensions": ["a": "b"]])
                    }.status
                }
                #expect(taken.allSatisfy { $0 == 200 })
                _ = try await Self.together(20) { number in
                    try await project.report("Boom", release: "1.0", user: "u\(number)", from: Self.address(number))
                }
                sent += 60
                let given = try await ParseClient.master(suite).get("/serverInfo")["replicas"] ?? .null
                return ["analytics", "crash"].flatMap { name in (1...3).map { "\(name)-\($0)" } }.allSatisfy {
                    given[$0]?.intValue ?? 0 >= 5
                }
            }
            let (eventsSent, reportsSent) = (sent, sent / 3)
            let admin = try await Customer.admin(suite)
            try await eventually("all are counted", within: .seconds(30)) {
                let counted = try await suite.rows(
                    "analytics", "SELECT sum(count) FROM eventHours WHERE name = '\(name)'")
                let issues = try await project.issues()
                return counted.first?.at(0)?.intValue == eventsSent && issues.first?["count"]?.intValue == reportsSent
            }
            let newest = try await admin.run("analyticsEvents", ["name": .string(name), "limit": 1000])
            #expect(newest.result.arrayValue?.count == Int(eventsSent))
            let issue = try await project.issues().first
            #expect(issue?["users"]?.intValue == 20)
            #expect(try await suite.rows("analytics", "SELECT 1 FROM inbox").isEmpty)

            // Nothing of a deleted account remains, including counts that were not stored yet.
            let leaving = try await Customer.signUp(suite)
            #expect(try await leaving.client.call(.POST, "/events/\(name)", ["dimensions": [:]]).status == 200)
            try await project.report("Boom", release: "1.0", user: leaving.userId)
            #expect(try await leaving.client.call(.DELETE, "/users/\(leaving.userId)").status == 200)
            for (service, tables) in [("analytics", ["inbox", "events"]), ("crash", ["inbox", "crashEvents"])] {
                try await eventually("\(service) has forgotten the account", within: .seconds(30)) {
                    let left = tables.map { "(SELECT count(*) FROM \($0) WHERE userId = '\(leaving.userId)')" }
                    let counted =
                        service == "analytics" ? "(SELECT sum(count) FROM eventHours WHERE name = '\(name)')" : "0"
                    let rows = try await suite.rows(service, "SELECT \(left.joined(separator: " + ")), \(counted)")
                    return rows.first?.at(0)?.intValue == 0
                        && (service == "crash" || rows.first?.at(1)?.intValue == eventsSent + 1)
                }
            }

            // Every replica refuses an invalid event at once.
            let refused = try await Self.together(12) { number in
                try await Self.post(suite, from: number, "/events/\(name)", ["dimensions": ["a": 1]]).code
            }
            #expect(refused.allSatisfy { $0 == 111 }, "\(refused)")
        }
    }

    // MARK: Requests

    private static func together<Answer: Sendable>(
        _ count: Int, _ request: @escaping @Sendable (Int) async throws -> Answer
    ) async throws -> [Answer] {
        try await withThrowingTaskGroup(of: (Int, Answer).self) { group in
            for number in 0..<count { group.addTask { (number, try await request(number)) } }
            return try await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    /// Retries while the answer says that the outcome is unknown or that nothing was done.
    private static func untilAnswered(
        but statuses: ClosedRange<Int> = 200...428, _ request: () async throws -> ParseClient.Answer
    ) async throws -> ParseClient.Answer {
        let end = ContinuousClock.now + .seconds(60)
        while true {
            let answer = try await request()
            let isOpen = !statuses.contains(answer.status) || answer.code == 124
            guard isOpen, ContinuousClock.now < end else { return answer }
            try await Task.sleep(for: .milliseconds(100))
        }
    }
}
