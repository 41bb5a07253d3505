import AnalyticsService
import Foundation
import Logging
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit
import ServiceSupport
import Testing

/// Orders attributed to pushes: an order counts once, for the push that its customer tapped last within the week before
/// it, whichever event is reported first.
@Suite struct PushTapTests {
    private let sandbox: SandboxStore
    /// A time whose attribution window ends before now while its taps are still stored.
    private let start = Timestamp.now.advanced(by: .milliseconds(-PushTaps.window - 3_600_000))

    init() async throws { sandbox = try await SandboxStore(analyticsPlan) }

    private func after(_ milliseconds: Int64) -> Timestamp { start.advanced(by: .milliseconds(milliseconds)) }

    private func open(
        _ pushHash: String, by user: String? = "u1", at moment: Timestamp, name: String = "AppOpened"
    ) async throws {
        let body: JSON = ["push_hash": .string(pushHash), "at": moment.wire]
        let event = try Event(name: name, body: body.serialized)
        try await sandbox.store.write { try EventIntake.take(event, by: Caller(userId: user), in: $0) }
    }

    private func order(
        _ id: String, by user: String = "u1", at moment: Timestamp, total: Int64 = 700, currency: String = "usd"
    ) async throws {
        let made = OrderMade.with {
            ($0.orderID, $0.userID, $0.totalMinorUnits, $0.currency, $0.pieces) = (id, user, total, currency, 2)
            $0.madeAt = moment.milliseconds
        }
        try await sandbox.store.write { try SalesLog.add(made, in: $0) }
    }

    private func change(_ id: String, status: OrderStatus, refunded: Int64, at moment: Timestamp) async throws {
        let changed = OrderChanged.with {
            ($0.orderID, $0.status, $0.refundedMinorUnits, $0.currency) = (id, status.event, refunded, "usd")
            $0.changedAt = moment.milliseconds
        }
        try await sandbox.store.write { try SalesLog.add(changed, in: $0) }
    }

    /// The push to which an order is attributed.
    private func push(of order: String) async throws -> String? {
        try await sandbox.store.read {
            try $0.rows("SELECT pushHash FROM sales WHERE orderId = ?", [.text(order)]).first?["pushHash"].textValue
        }
    }

    private func figures(_ hashes: String...) async throws -> JSON {
        try await sandbox.store.read { try PushSales.of(hashes, $0) }
    }

    // MARK: - Which tap counts

    @Test(
        arguments: [
            (-1, false), (0, true), (1, true), (PushTaps.window, true), (PushTaps.window + 1, false),
        ] as [(Int64, Bool)])
    func anOrderCountsInTheWindowAfterTheTap(later: Int64, counts: Bool) async throws {
        try await open("a", at: start)
        try await order("tapFirst", at: after(later))
        try await order("orderFirst", by: "u2", at: after(later))
        try await open("a", by: "u2", at: start)
        for id in ["tapFirst", "orderFirst"] {
            let found = try await push(of: id)
            #expect(found == (counts ? "a" : nil), "\(id), \(later) ms later")
        }
    }

    @Test func theLastTapBeforeTheOrderCounts() async throws {
        for (hash, at) in [("a", 0), ("b", 10), ("c", 30), ("a", 5)] as [(String, Int64)] {
            try await open(hash, at: after(at))
        }
        try await open("other", by: "u2", at: after(15))
        try await order("o1", at: after(20))
        #expect(try await push(of: "o1") == "b")
        #expect(try await figures("b")["orders"] == 1)
        #expect(try await figures("a", "c", "other")["orders"] == 0)
    }

    /// Reports within the same seconds arrive in any order: two taps at the same time, and taps and orders among each
    /// other.
    @Test func theResultIsTheSameInWhateverOrderTheyAreTold() async throws {
        enum News { case tap(String, Int64), order(String, Int64) }
        let all: [News] = [
            .tap("a", 0), .tap("b", 10), .tap("c", 10), .tap("d", 40), .order("early", 5), .order("middle", 20),
            .order("late", 60), .order("none", -5),
        ]
        for round in 0..<20 {
            let user = "user\(round)"
            for news in all.shuffled() {
                switch news {
                case .tap(let hash, let at): try await open(hash, by: user, at: after(at))
                case .order(let name, let at): try await order("\(name)\(round)", by: user, at: after(at))
                }
            }
            var found: [String?] = []
            for name in ["none", "early", "middle", "late"] { found.append(try await push(of: "\(name)\(round)")) }
            #expect(found == [nil, "a", "c", "d"])
        }
    }

    @Test func aTapOfTheFutureCountsFromNow() async throws {
        let now = Timestamp.now
        try await open("a", at: now.advanced(by: .seconds(86_400)))
        try await order("o1", at: now.advanced(by: .seconds(60)))
        #expect(try await push(of: "o1") == "a")
        let ahead = now.milliseconds + 60_000
        #expect(try await sandbox.count("SELECT count(*) FROM pushTaps WHERE tappedAt > \(ahead)") == 0)
    }

    @Test func onlyTapsOfUsersThatOpenTheAppAreKept() async throws {
        try await open("a", by: nil, at: start)
        try await open("", at: start)
        try await open("a", at: start, name: "Tap")
        #expect(try await sandbox.count("SELECT count(*) FROM pushTaps") == 0)
        for _ in 0..<3 { try await open("a", at: start) }
        #expect(try await sandbox.count("SELECT count(*) FROM pushTaps") == 1)
    }

    @Test func aTimeThatCannotBeCountsForNothing() async throws {
        try await open("a", at: start)
        try await order("first", at: Timestamp(milliseconds: .min))
        try await order("last", at: Timestamp(milliseconds: .max))
        #expect(try await figures("a")["orders"] == 0)
    }

    // MARK: - Figures

    @Test func repeatedReportsCountOnce() async throws {
        try await open("a", at: start)
        for _ in 0..<2 { try await order("o1", at: after(10)) }
        // A later tap does not get an earlier order, however often that order is reported.
        try await open("b", at: after(20))
        try await order("o1", at: after(10))
        let told = try await figures("a", "b", "a")
        #expect(told["orders"] == 1)
        #expect(told["sales"]?.arrayValue?.first?["grossMinorUnits"] == 700)
    }

    @Test func refundsAndCancelledOrdersAreTakenOff() async throws {
        try await open("a", at: start)
        for id in ["kept", "partly", "gone"] { try await order(id, at: after(10)) }
        // In another currency, by another customer, and for another push.
        try await order("abroad", at: after(11), total: 1000, currency: "jpy")
        try await order("stranger", by: "u2", at: after(12), total: 5000)
        try await open("b", by: "u3", at: start)
        try await order("other", by: "u3", at: after(13), total: 90)
        try await change("partly", status: .shipped, refunded: 200, at: after(20))
        try await change("partly", status: .shipped, refunded: 100, at: after(21))
        for _ in 0..<2 { try await change("gone", status: .cancelled, refunded: 700, at: after(22)) }
        func line(_ currency: String, _ counts: (Int64, Int64), _ gross: Int64, _ refunded: Int64) -> JSON {
            [
                "currency": .string(currency), "orders": .int(counts.0), "cancelled": .int(counts.1),
                "grossMinorUnits": .int(gross), "refundedMinorUnits": .int(refunded),
                "netMinorUnits": .int(gross - refunded),
            ]
        }
        #expect(
            try await figures("a")
                == ["orders": 4, "sales": [line("jpy", (1, 0), 1000, 0), line("usd", (3, 1), 2100, 1000)]])
        #expect(
            try await figures("a", "b")
                == ["orders": 5, "sales": [line("jpy", (1, 0), 1000, 0), line("usd", (4, 1), 2190, 1000)]])
        #expect(try await figures("none") == ["orders": 0, "sales": []])
    }

    // MARK: - Stored taps

    @Test func aDeletedAccountsOrdersRemainWithoutAnOwner() async throws {
        try await open("a", at: start)
        try await open("a", by: "u2", at: start)
        try await order("o1", at: after(10))
        try await sandbox.store.write {
            try PushTaps.forget("u1", in: $0)
            try SalesLog.forget("u1", in: $0)
        }
        #expect(try await sandbox.count("SELECT count(*) FROM pushTaps WHERE userId = 'u1'") == 0)
        #expect(try await sandbox.count("SELECT count(*) FROM pushTaps") == 1)
        #expect(try await sandbox.count("SELECT count(*) FROM sales WHERE userId = 'u1'") == 0)
        #expect(try await figures("a")["orders"] == 1)
    }

    @Test func whatArrivesAfterTheDeletionNamesNobody() async throws {
        try await sandbox.store.write { try AccountDeletion.forget("u1", in: $0) }
        try await open("a", at: start)
        try await order("o1", at: after(10))
        for column in ["events.userId", "activeIds.id", "visits.id", "pushTaps.userId", "sales.userId"] {
            let table = column.prefix { $0 != "." }
            #expect(try await sandbox.count("SELECT count(*) FROM \(table) WHERE \(column) = 'u1'") == 0, "\(column)")
        }
        #expect(try await sandbox.count("SELECT count(*) FROM events") == 1)
        #expect(try await sandbox.count("SELECT sum(count) FROM eventHours") == 1)
        #expect(try await sandbox.count("SELECT sum(grossMinorUnits) FROM salesHours") == 700)
    }

    /// A user may report any number of taps.
    @Test func theTapsOfAUserAreBounded() async throws {
        let count = PushTaps.ofUserMax + 10
        for index in 0..<count { try await open("h\(index)", at: after(index)) }
        try await open("late", at: after(-1))
        #expect(try await sandbox.count("SELECT count(*) FROM pushTaps") == PushTaps.ofUserMax)
        #expect(try await sandbox.count("SELECT min(tappedAt) FROM pushTaps") == after(10).milliseconds)
        try await order("o1", at: after(count))
        #expect(try await push(of: "o1") == "h\(count - 1)")
    }

    @Test func tapsGoWhenNoOrderCanFollowThem() async throws {
        try await open("kept", at: start)
        try await open("old", at: start.advanced(by: .seconds(-2 * 86_400)))
        try await order("o1", at: start.advanced(by: .seconds(-86_400)))
        let removed = try await sandbox.store.write { try Retention.removeOldest($0) }
        #expect(removed)
        #expect(try await sandbox.count("SELECT count(*) FROM pushTaps WHERE pushHash = 'kept'") == 1)
        #expect(try await sandbox.count("SELECT count(*) FROM pushTaps") == 1)
        #expect(try await figures("old")["orders"] == 1, "What was counted stays.")
        let isMore = try await sandbox.store.write { try Retention.removeOldest($0) }
        #expect(!isMore)
    }

    // MARK: - Files of earlier releases

    @Test func aFileOfBeforeKeepsItsSalesAndCountsFromThenOn() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "satchel-\(Names.random(12))")
        defer { try? FileManager.default.removeItem(at: folder) }
        func open(_ migrations: [Migration]) async throws -> ClassStore {
            let store = try ClassStore(
                .file(path: folder.appending(path: "analytics.sqlite").path), classes: [], allowClassCreation: false,
                allowCustomObjectId: true, migrations: [.serviceKit, Migrations("analytics", migrations)],
                logger: Logger(label: "test"))
            await withCheckedContinuation { continuation in
                store.startWriting { continuation.resume() }
            }
            return store
        }
        let (tapped, made) = (start.milliseconds, after(10).milliseconds)
        let before = try await open(Array(analyticsMigrations.prefix(2)))
        try await before.write {
            _ = try $0.execute(
                """
                INSERT INTO sales(orderId, orderNumber, userId, totalMinorUnits, currency, pieces, madeAt)
                VALUES ('old', 1, 'u1', 700, 'usd', 2, ?)
                """,
                [.int(made)])
            _ = try $0.execute(
                "INSERT INTO pushOpens(pushHash, opens, firstAt, lastAt) VALUES ('a', 3, 1, ?)", [.int(tapped)])
        }
        before.stop()
        let store = try await open(analyticsMigrations)
        defer { store.stop() }
        let old = try await store.read {
            try $0.rows("SELECT totalMinorUnits, pushHash, (SELECT opens FROM pushOpens) AS opens FROM sales", [])
        }.first
        #expect(try old?.int("totalMinorUnits") == 700)
        #expect(try old?["pushHash"].isNull == true)
        #expect(try old?.int("opens") == 3)
        let body: JSON = ["push_hash": "a", "at": start.wire]
        let event = try Event(name: "AppOpened", body: body.serialized)
        let next = OrderMade.with { ($0.orderID, $0.userID, $0.currency, $0.madeAt) = ("new", "u1", "usd", made) }
        try await store.write {
            try SalesLog.add(next, in: $0)
            try EventIntake.take(event, by: Caller(userId: "u1"), in: $0)
        }
        // Includes the old order, whose tap was reported only now.
        let figures = try await store.read { try PushSales.of(["a"], $0) }
        #expect(figures["orders"] == 2)
    }
}
