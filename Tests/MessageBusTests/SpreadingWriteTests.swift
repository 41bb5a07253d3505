import MessageBus
import Messages
import Testing

/// The broker's decisions about changes that any writing replica may make: all changes of a client go to the same one.
@Suite final class SpreadingWriteTests {
    private var subject = Dispatcher<String>()
    private var actions: [Dispatcher<String>.Action] = []
    private var requests = 0

    private func hello(_ replica: UInt8, edition: UInt64 = 7, writer: Bool = false, now: Int64 = 0) {
        let hello = Hello.with {
            $0.service = "catalog"
            $0.replica = "catalog-\(replica)"
            $0.writer = writer
            $0.edition = edition
        }
        subject.hello([replica], hello, now: now, &actions)
    }

    /// Three replicas, of which the first leads.
    private func three() {
        for replica in 1...3 as ClosedRange<UInt8> { hello(replica, writer: replica == 1) }
    }

    /// - Returns: the replicas that got a message.
    private func change(by user: String, master: Bool = false, shared: Bool = true) -> [UInt8] {
        requests += 1
        let message = BusMessage(
            envelope: .with {
                $0.version = 1
                $0.form = .request
                $0.kind = ObjectCalls(of: "catalog").write.kind
                $0.deadline = 100_000
                $0.writes = true
                $0.shared = shared
                $0.idempotencyKey = "key \(requests)"
                $0.principal.userID = user
                $0.principal.network = "192.0.2.1"
                $0.principal.master = master
            })
        subject.request(message, from: "\(requests)", now: 0, &actions)
        return sent()
    }

    private func sent() -> [UInt8] {
        defer { actions = [] }
        return actions.compactMap { action in
            if case .send(let lane, _) = action { lane.first } else { nil }
        }
    }

    /// The replica of each user.
    private func homes(of users: [String]) -> [String: [UInt8]] {
        Dictionary(uniqueKeysWithValues: users.map { ($0, change(by: $0)) })
    }

    private let users = (0..<60).map { "user\($0)" }

    @Test func aClientsChangesGoToOneReplicaAndAllReplicasHaveClients() {
        three()
        let homes = homes(of: users)
        #expect(homes.values.allSatisfy { $0.count == 1 })
        for replica in 1...3 as ClosedRange<UInt8> {
            #expect(homes.values.count { $0 == [replica] } >= 8, "\(replica)")
        }
        #expect(self.homes(of: users) == homes, "Whatever the others have to do.")
    }

    @Test func theShopsOwnGoWhereLeastIsToDo() {
        three()
        let taken = (0..<9).flatMap { _ in change(by: "", master: true) }
        for replica in 1...3 as ClosedRange<UInt8> { #expect(taken.count { $0 == replica } == 3) }
    }

    @Test func whenAReplicaEndsItsClientsAloneMove() {
        three()
        let before = homes(of: users)
        subject.gone([2], now: 0, &actions)
        _ = sent()
        let after = homes(of: users)
        for user in users where before[user] != [2] { #expect(after[user] == before[user]) }
        for user in users where before[user] == [2] { #expect(after[user] == [1] || after[user] == [3]) }
        hello(2)
        _ = sent()
        #expect(homes(of: users) == before, "They come back to it.")
    }

    @Test func whatDoesNotSpreadGoesToTheOneThatLeads() {
        three()
        for user in users.prefix(9) { #expect(change(by: user, shared: false) == [1]) }
    }

    @Test func aReplicaOfOtherTablesGetsNone() {
        three()
        hello(3, edition: 8)
        _ = sent()
        #expect(!homes(of: users).values.contains([3]))
    }

    @Test func oneThatLeavesGetsNone() {
        three()
        subject.goodbye([2], now: 0)
        #expect(!homes(of: users).values.contains([2]))
    }

    @Test func withOneWriterItHasThemAll() {
        for replica in 1...3 as ClosedRange<UInt8> { hello(replica, edition: 0, writer: replica == 1) }
        #expect(homes(of: users).values.allSatisfy { $0 == [1] })
    }

    @Test func theyGoOnWhileNobodyLeads() {
        three()
        subject.gone([1], now: 0, &actions)
        _ = sent()
        #expect(homes(of: users).values.allSatisfy { $0 == [2] || $0 == [3] })
    }

    /// A client with more requests in progress than one replica accepts at a time does not wait for that replica.
    @Test func pastTheWindowTheOthersHelp() {
        three()
        let home = change(by: "ann")
        for _ in 1..<Dispatcher<String>.windowMax { #expect(change(by: "ann") == home) }
        let next = change(by: "ann")
        #expect(next.count == 1)
        #expect(next != home)
    }

    @Test func callsThatSpreadSaySoThemselves() throws {
        let write = try BusRequest(ObjectCalls(of: "catalog").write, WriteRequest())
        #expect(write.shared)
        let schema = try BusRequest(ObjectCalls(of: "catalog").schema, SchemaChange())
        #expect(!schema.shared)
        let reserve = try BusRequest(CatalogCalls.reserve, ReserveRequest())
        #expect(reserve.shared)
        #expect(!reserve.envelope.shared, "A read is nobody's in particular.")
        let filling = try BusRequest(ObjectCalls(of: "bag").function("addToBag"), FunctionRequest())
        #expect(filling.shared)
        let shipping = try BusRequest(ObjectCalls(of: "bag").function("shipOrder"), FunctionRequest())
        #expect(!shipping.shared)
        let mails = try BusRequest(DeliveryCalls(to: "mail").deliver, DeliverRequest())
        #expect(mails.shared)
        let news = try BusRequest(DeliveryCalls(to: "bag").deliver, DeliverRequest())
        #expect(!news.shared)
        #expect(Calls.spreadingServices == Set(ObjectCalls.performers).subtracting(["cloud"]))
    }
}
