import Foundation
import Logging
import Messages
import ObjectStore
import ParseProtocol
import PushService
import ServiceSupport
import Testing

/// Deliveries in the store: created once despite crashes, counted once, and only for the right recipients.
@Suite struct PushStoreTests {
    final class Fixture: Sendable {
        let store: ClassStore
        private let directory: String

        init() async throws {
            directory = NSTemporaryDirectory() + "push-" + Names.random(10)
            var logger = Logger(label: "test")
            logger.logLevel = .critical
            store = try ClassStore(
                testDatabase("push", in: URL(fileURLWithPath: directory)), classes: pushPlan.classes,
                allowClassCreation: false, allowCustomObjectId: false, migrations: [pushPlan.migrations],
                logger: logger)
            await withCheckedContinuation { started in store.startWriting { started.resume() } }
        }

        deinit {
            store.stop()
            try? FileManager.default.removeItem(atPath: directory)
        }

        func install(_ count: Int, _ fields: JSON = [:]) async throws {
            try await store.write { transaction in
                for _ in 0..<count {
                    var object: JSON = ["deviceType": "ios", "deviceToken": .string(Names.random(20))]
                    for (name, value) in fields.objectValue ?? [:] { object[name] = value }
                    _ = try transaction.create("_Installation", object, caller: .master)
                }
            }
        }

        func push(_ members: JSON = [:]) async throws -> String {
            var body: JSON = ["where": [:], "data": ["alert": "hi", "badge": "Increment"]]
            for (name, value) in members.objectValue ?? [:] { body[name] = value }
            let whole = body
            return try await store.write { transaction in
                let draft = try PushDraft(whole, now: transaction.now)
                let id = try Pushes.add(draft, source: "rest", in: transaction)
                _ = try transaction.execute("UPDATE pushes SET state = 'spreading'")
                return id
            }
        }

        func spreading(_ id: String) async throws -> FanoutPush? {
            try await store.read {
                try $0.rows("SELECT * FROM pushes WHERE id = ? AND state = 'spreading'", [.text(id)]).first.map(
                    FanoutPush.init)
            }
        }

        /// Creates all deliveries and returns the number of slices.
        func spread(_ id: String, isScanning: Bool = false) async throws -> Int {
            var slices = 0
            while let push = try await spreading(id) {
                let slice = try await store.read { try Slice.read(push, isScanning: isScanning, from: $0) }
                #expect(slice.installations.count <= Slice.rowsMax)
                try await store.write { try slice.commit(push, in: $0) }
                slices += 1
            }
            return slices
        }

        func count(_ sql: String, _ arguments: [SQLValue] = []) async throws -> Int64 {
            try await store.read { try $0.rows(sql, arguments).first?.int(0) ?? -1 }
        }
    }

    @Test(arguments: [false, true])
    func everyInstallationHasOneDelivery(isScanning: Bool) async throws {
        let fixture = try await Fixture()
        try await fixture.install(1203)
        try await fixture.store.write { transaction in
            _ = try transaction.create(
                "_Installation", ["deviceType": "ios", "installationId": "without-a-token"], caller: .master)
        }
        let id = try await fixture.push()
        #expect(try await fixture.spread(id, isScanning: isScanning) == 3)
        #expect(try await fixture.count("SELECT count(*) FROM deliveries") == 1203)
        #expect(try await fixture.count("SELECT count(DISTINCT installation) FROM deliveries") == 1203)
        #expect(try await fixture.count("SELECT count(DISTINCT name) FROM deliveries") == 1203)
        #expect(try await fixture.count("SELECT min(badge) + max(badge) FROM deliveries") == 2)
    }

    /// After the clock was set back, a push with a chosen date keeps it, and all other pushes become due.
    @Test func aDateStaysAndEverythingElseIsDueThoughTheClockIsSetBack() async throws {
        let fixture = try await Fixture()
        var ids: [String: String] = [:]
        for name in ["chosen", "atOnce", "begun"] { ids[name] = try await fixture.push() }
        let day: Int64 = 86_400_000
        let now = Timestamp.now.milliseconds
        try await fixture.store.write { [ids] transaction in
            for (name, state, dueAt, madeAt) in [
                ("chosen", "scheduled", 40, 0), ("atOnce", "scheduled", 40, 40), ("begun", "spreading", 40, 0),
            ] as [(String, String, Int64, Int64)] {
                _ = try transaction.execute(
                    "UPDATE pushes SET state = ?, dueAt = ?, madeAt = ? WHERE id = ?",
                    [.text(state), .int(now + dueAt * day), .int(now + madeAt * day), .text(ids[name] ?? "")])
            }
        }
        #expect(try await Pushes.waits.shorten(in: fixture.store) == 2)
        let later = try await fixture.store.read { reader in
            try reader.rows("SELECT id FROM pushes WHERE dueAt > ?", [.int(now + day)]).map { try $0.text("id") }
        }
        #expect(later == [ids["chosen"]])
    }

    @Test func aSliceIsCommittedOnce() async throws {
        let fixture = try await Fixture()
        try await fixture.install(700)
        let id = try await fixture.push()
        let push = try #require(try await fixture.spreading(id))
        let slice = try await fixture.store.read { try Slice.read(push, isScanning: false, from: $0) }
        for _ in 0..<3 { try await fixture.store.write { try slice.commit(push, in: $0) } }
        #expect(try await fixture.count("SELECT count(*) FROM deliveries") == Int64(Slice.rowsMax))
        #expect(try await fixture.count("SELECT max(badge) FROM deliveries") == 1)
        _ = try await fixture.spread(id)
        #expect(try await fixture.count("SELECT count(DISTINCT installation) FROM deliveries") == 700)
        #expect(try await fixture.count("SELECT made FROM pushes") == 700)
    }

    @Test func aDeliveryIsCountedOnce() async throws {
        let fixture = try await Fixture()
        try await fixture.install(2)
        let id = try await fixture.push()
        _ = try await fixture.spread(id)
        let rows = try await fixture.store.read { try $0.rows("SELECT id FROM deliveries", []) }
        for row in rows {
            let delivery = try Delivery(
                id: row.int("id"), name: "n", push: id, installation: "i", deviceType: "ios", token: "t",
                appIdentifier: nil, payload: try PushPayload([:]), badge: nil, utcOffset: nil, attempts: 0,
                madeAt: .now, expiresAt: nil, isCancelled: false)
            for _ in 0..<3 {
                try await fixture.store.write { transaction in
                    try PushProgress.end(delivery, isSent: true, reason: "", in: transaction)
                    try PushProgress.settle(id, in: transaction)
                }
            }
        }
        let status = try await fixture.store.read {
            try JSON(parsing: $0.get(Pushes.statusClass, id, caller: .master))
        }
        #expect(status["numSent"] == 2)
        #expect(status["count"] == 2)
        #expect(status["status"] == "succeeded")
    }

    @Test func aCancelledPushMakesNoMore() async throws {
        let fixture = try await Fixture()
        try await fixture.install(600)
        let id = try await fixture.push()
        let push = try #require(try await fixture.spreading(id))
        let slice = try await fixture.store.read { try Slice.read(push, isScanning: false, from: $0) }
        #expect(try await fixture.store.write { try Pushes.cancel(id, in: $0) })
        try await fixture.store.write { try slice.commit(push, in: $0) }
        #expect(try await fixture.count("SELECT count(*) FROM deliveries") == 0)
        #expect(try await fixture.store.write { try Pushes.cancel(id, in: $0) } == false)
        let status = try await fixture.store.read {
            try JSON(parsing: $0.get(Pushes.statusClass, id, caller: .master))
        }
        #expect(status["status"] == "failed")
        #expect(status["errorMessage"] == "Cancelled")
    }

    @Test func theMessageOfACancelledPushBeginsWithTheCancellation() async throws {
        let fixture = try await Fixture()
        let id = try await fixture.push()
        try await fixture.store.write { transaction in
            for (reason, count) in [("Unregistered", 30), ("Cancelled", 10)] as [(String, Int64)] {
                try transaction.execute(
                    "INSERT INTO deliveryCounts VALUES (?, 0, ?, 'ios', '', ?)",
                    [.text(id), .text(reason), .int(count)])
            }
            _ = try Pushes.cancel(id, in: transaction)
        }
        let status = try await fixture.store.read {
            try JSON(parsing: $0.get(Pushes.statusClass, id, caller: .master))
        }
        #expect(status["errorMessage"] == "Cancelled: 10; Unregistered: 30")
    }

    @Test func customersHearEachPieceOfNewsOnce() async throws {
        let fixture = try await Fixture()
        try await fixture.install(2, ["user": .pointer("_User", "ada1234567")])
        try await fixture.install(1, ["user": .pointer("_User", "ben1234567")])
        try await fixture.install(1)
        @Sendable func news(_ status: Int32) -> OrderChanged {
            .with {
                $0.orderID = "o1"
                $0.orderNumber = 1_000_001
                $0.userID = "ada1234567"
                $0.status = status
            }
        }
        for status in [2, 2, 3, 1, 99] as [Int32] {
            try await fixture.store.write { try Notifications.add(news(status), in: $0) }
        }
        let texts = try await fixture.store.read { reader in
            try reader.rows("SELECT payload, userId FROM deliveries ORDER BY id", []).map {
                (try JSON(parsing: $0.blob("payload")), try $0.text("userId"))
            }
        }
        #expect(
            texts.map { $0.0["alert"] } == [
                "Order 1000001 is on its way.", "Order 1000001 is on its way.", "Order 1000001 has been delivered.",
                "Order 1000001 has been delivered.",
            ])
        #expect(texts.allSatisfy { $0.0["orderId"] == "o1" && $0.1 == "ada1234567" })
    }

    @Test(.enabled(if: testsRunOnSQLite)) func whatWasToldOfAnOrderIsListed() async throws {
        let fixture = try await Fixture()
        try await fixture.install(2, ["user": .pointer("_User", "ada1234567")])
        try await fixture.store.write { transaction in
            for order in ["o1", "o2"] {
                try Notifications.add(
                    OrderMade.with {
                        $0.orderID = order
                        $0.userID = order == "o1" ? "ada1234567" : ""
                        $0.madeAt = 1_900_000_000_000
                    }, in: transaction)
            }
            for (status, refunded) in [(2, 0), (-2, 150), (-1, 700)] as [(Int32, Int64)] {
                try Notifications.add(
                    OrderChanged.with {
                        $0.orderID = "o1"
                        $0.userID = "ada1234567"
                        $0.status = status
                        $0.refundedMinorUnits = refunded
                        $0.partlyRefunded = refunded == 150
                        $0.changedAt = 1_900_000_001_000
                    }, in: transaction)
            }
        }
        func told(_ order: String) async throws -> [JSON] {
            try await fixture.store.read { try Notifications.list(ofOrder: order, in: $0) }
        }
        let news = try await told("o1")
        #expect(news.map { $0["news"] } == ["made", "shipped", "partlyRefunded", "cancelled"])
        #expect(news.allSatisfy { $0["devices"] == 2 && $0["madeAt"]?.wireType == "Date" }, "\(news)")
        // A customer without an account has no devices.
        let others = try await told("o2")
        #expect(others.map { $0["news"] } == ["made"])
        #expect(others.first?["devices"] == nil)
        let plan = try await fixture.store.read {
            try $0.rows(
                "EXPLAIN QUERY PLAN SELECT reason FROM notifications WHERE subject = ? ORDER BY id LIMIT ?",
                [.text("o1"), .int(1)]
            ).map { try $0.text("detail") }
        }
        #expect(plan.allSatisfy { $0.contains("notificationsOfOrder (subject=?)") }, "\(plan)")
    }

    /// Counts the failures of all pushes of a promotion, and of no other promotion. Many different reasons do not make
    /// the answer longer.
    @Test func failuresOfAPromotionAreCountedByReason() async throws {
        let fixture = try await Fixture()
        let pushes = [try await fixture.push(), try await fixture.push(), try await fixture.push()]
        let many = PushProgress.namedMax + 5
        try await fixture.store.write { transaction in
            for (push, promotion) in zip(pushes, ["p1", "p1", "p2"]) {
                try transaction.execute(
                    "UPDATE pushes SET promotion = ? WHERE id = ?", [.text(promotion), .text(push)])
            }
            func count(_ push: String, _ isSent: Int64, _ reason: String, _ type: String, _ count: Int64) throws {
                try transaction.execute(
                    "INSERT INTO deliveryCounts VALUES (?, ?, ?, ?, '', ?)",
                    [.text(push), .int(isSent), .text(reason), .text(type), .int(count)])
            }
            try count(pushes[0], 1, "", "ios", 1000)
            try count(pushes[0], 0, "Unregistered", "ios", 30)
            try count(pushes[1], 0, "Unregistered", "osx", 10)
            try count(pushes[1], 0, "Expired", "ios", 35)
            try count(pushes[2], 0, "Expired", "ios", 100)
        }
        func failures() async throws -> [String] {
            try await fixture.store.read {
                try PushProgress.failures(ofPromotion: "p1", latest: 100, from: $0).map { "\($0.reason) \($0.count)" }
            }
        }
        #expect(try await failures() == ["Unregistered 40", "Expired 35"])
        try await fixture.store.write { transaction in
            for index in 0..<many {
                try transaction.execute(
                    "INSERT INTO deliveryCounts VALUES (?, 0, ?, 'ios', '', 2)",
                    [.text(pushes[0]), .text("Status\(index)")])
            }
        }
        let bounded = try await failures()
        #expect(bounded.count == PushProgress.namedMax + 1)
        #expect(bounded.first == "Unregistered 40")
        #expect(bounded.last == "\(PushProgress.otherReasons) 14", "Seven of those that came last.")
    }

    @Test func aDeletedAccountHearsNothingAndOwnsNoDevice() async throws {
        let fixture = try await Fixture()
        for user in ["ada1234567", "ben1234567"] {
            try await fixture.install(2, ["user": .pointer("_User", user)])
            try await fixture.store.write { transaction in
                try Notifications.add(
                    OrderMade.with {
                        $0.orderID = "o-" + user
                        $0.userID = user
                    }, in: transaction)
            }
        }
        for _ in 0..<2 { try await fixture.store.write { try Notifications.forget("ada1234567", in: $0) } }
        #expect(try await fixture.count("SELECT count(*) FROM deliveries") == 2)
        #expect(try await fixture.count("SELECT count(*) FROM deliveries WHERE userId = 'ben1234567'") == 2)
        #expect(try await fixture.count("SELECT count(*) FROM notifications") == 1)
        let owned = try await fixture.store.read {
            try $0.documents(Query(className: "_Installation", where: [:]), caller: .master).compactMap { $0["user"] }
        }
        #expect(owned == [.pointer("_User", "ben1234567"), .pointer("_User", "ben1234567")])
    }

    @Test func newsAfterTheDeletionOfAnAccountDoesNotNameIt() async throws {
        let fixture = try await Fixture()
        try await fixture.install(1, ["user": .pointer("_User", "ada1234567")])
        try await fixture.store.write { transaction in
            try Notifications.forget("ada1234567", in: transaction)
            try Notifications.add(
                OrderMade.with {
                    $0.orderID = "o1"
                    $0.userID = "ada1234567"
                }, in: transaction)
        }
        #expect(try await fixture.count("SELECT count(*) FROM notifications WHERE userId = ''") == 1)
    }

    @Test func aDeviceThatMustHaveAUserIsDeletedWithTheAccount() async throws {
        let fixture = try await Fixture()
        for user in ["ada1234567", "ben1234567"] {
            try await fixture.install(1, ["user": .pointer("_User", user)])
        }
        let user: JSON = ["type": "Pointer", "targetClass": "_User", "required": true]
        try await fixture.store.write {
            _ = try $0.changeClass("_Installation", ["fields": ["user": user]], keeping: [])
        }
        try await fixture.store.write { try Notifications.forget("ada1234567", in: $0) }
        let left = try await fixture.store.read {
            try $0.documents(Query(className: "_Installation", where: [:]), caller: .master).compactMap { $0["user"] }
        }
        #expect(left == [.pointer("_User", "ben1234567")])
    }
}
