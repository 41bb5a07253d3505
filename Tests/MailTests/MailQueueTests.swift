import Foundation
import MailService
import Messages
import ObjectStore
import ParseProtocol
import ServiceSupport
import Synchronization
import TestSupport
import Testing

/// The queue: the rows that it stores and deletes, suppressed addresses, and changes by operators.
@Suite struct MailQueueTests {
    /// Gives the configured answer for an address, and counts attempts.
    private final class Transport: MailTransport {
        private let problems: Mutex<[String: MailProblem]>
        private let log = Mutex<[String]>([])
        private let most = Mutex((now: 0, ever: 0))

        init(_ problems: [String: MailProblem] = [:]) { self.problems = Mutex(problems) }

        func send(_ message: MailMessage, name: String) async throws(MailProblem) {
            most.withLock { $0 = ($0.now + 1, max($0.ever, $0.now + 1)) }
            await Task.yield()
            most.withLock { $0.now -= 1 }
            log.withLock { $0.append(message.recipient.address) }
            if let problem = problems.withLock({ $0[message.recipient.address] }) { throw problem }
        }

        var attempts: [String] { log.withLock { $0 } }
        var mostAtOnce: Int { most.withLock { $0.ever } }
        func heal() { problems.withLock { $0 = [:] } }
    }

    @Test(arguments: 1...3) func everyMailIsSentOnceAndAFewAtATime(roomMin: Int) async throws {
        let transport = Transport()
        let post = try await MailPost(transport, connections: 3, roomMin: roomMin)
        for index in 0..<200 { try await post.ask("ann+\(index)@shop.example") }
        try await eventually("all are sent") {
            try await post.box.count("SELECT count(*) FROM mails WHERE state = 'sent'") == 200
        }
        #expect(transport.attempts.count == 200)
        #expect(Set(transport.attempts).count == 200)
        #expect(transport.mostAtOnce <= 3)
    }

    /// Queues mails, numbered from 1.
    private static func queue(_ count: Int, in box: SandboxStore) async throws {
        for index in 1...count {
            let message = SendMailRequest.with {
                $0.template = "password-reset"
                $0.toAddress = "ann+\(index)@shop.example"
            }
            try await box.store.write { try MailQueue.add(message, key: "mail-\(index)", in: $0) }
        }
    }

    @Test func mailsThatAreUnderWayAreNotLookedUpAgain() async throws {
        let box = try await SandboxStore(mailPlan)
        let queue = MailQueue(store: box.store)
        try await Self.queue(6, in: box)
        // Mails 4 and 5 are due again, 6 is not.
        try await box.store.write {
            try $0.execute("UPDATE mails SET attempts = 1, dueAt = 5 - id WHERE id IN (4, 5)")
            try $0.execute("UPDATE mails SET attempts = 1, dueAt = dueAt + 3600000 WHERE id = 6")
        }
        #expect(try await queue.due(fresh: 2, retries: 2, underWay: []).mails.map(\.id) == [1, 2, 5, 4])
        #expect(try await queue.due(fresh: 2, retries: 2, underWay: [1, 5]).mails.map(\.id) == [2, 3, 4])
        #expect(try await queue.due(fresh: 1, retries: 0, underWay: [1, 2]).mails.map(\.id) == [3])
    }

    @Test(.enabled(if: !testsRunOnSQLite, "One process sends."))
    func concurrentSendersTakeDifferentMails() async throws {
        let box = try await SandboxStore(mailPlan, writers: .every)
        let (one, other) = (
            MailQueue(store: box.store, claimDuration: .seconds(600)),
            MailQueue(store: box.store, claimDuration: .seconds(600))
        )
        try await Self.queue(8, in: box)
        // Mails 5 and 6 are due again, 7 is not, and 8 belongs to a newer release.
        try await box.store.write {
            try $0.execute("UPDATE mails SET template = 'of-tomorrow' WHERE id = 8")
            try $0.execute("UPDATE mails SET attempts = 1, dueAt = 6 - id WHERE id IN (5, 6)")
            try $0.execute("UPDATE mails SET attempts = 1, dueAt = dueAt + 3600000 WHERE id = 7")
        }
        #expect(try await one.due(fresh: 2, retries: 2, underWay: []).mails.map(\.id) == [1, 2])
        let claimed = try await other.due(fresh: 3, retries: 2, underWay: []).mails
        #expect(claimed.map(\.id) == [3, 4, 6])
        #expect(try await one.due(fresh: 3, retries: 0, underWay: []).mails.isEmpty)
        try await other.releaseClaims(claimed.filter { $0.id == 4 })
        #expect(try await one.due(fresh: 3, retries: 1, underWay: [1, 2]).mails.map(\.id) == [4, 5])
        #expect(try await other.due(fresh: 9, retries: 9, underWay: []).mails.isEmpty)
    }

    /// For each mail, the milliseconds from its request to its `dueAt`.
    private static func waits(in box: SandboxStore) async throws -> [Int64] {
        try await box.store.read {
            try $0.rows("SELECT dueAt - queuedAt AS wait FROM mails ORDER BY id", []).map { try $0.int("wait") }
        }
    }

    @Test func aReleasedClaimKeepsTheBackoffOfAnAttempt() async throws {
        let box = try await SandboxStore(mailPlan)
        try await Self.queue(2, in: box)
        let claimed = try await MailQueue(store: box.store).due(fresh: 2, retries: 0, underWay: []).mails
        #expect(claimed.map(\.id) == [1, 2])
        try await box.store.write { try $0.execute("UPDATE mails SET dueAt = dueAt + 600000") }
        let queue = MailQueue(store: box.store, claimDuration: .seconds(600))
        // An earlier attempt of mail 1 ends while the claim is made.
        try await queue.record(1, .again(after: .seconds(3600), problem: "Busy"))
        try await queue.releaseClaims(claimed)
        let waits = try await Self.waits(in: box)
        #expect(waits[0] >= 3_600_000)
        #expect(waits[1] < 600_000)
    }

    @Test func anOperatorsRetryEndsABackoffButNotAClaim() async throws {
        let box = try await SandboxStore(mailPlan)
        try await Self.queue(3, in: box)
        // Mail 1 waits an hour for its next attempt; another process has claimed 2 and 3 for ten minutes.
        try await box.store.write {
            try $0.execute(
                """
                UPDATE mails SET model = ?, attempts = 3 - id,
                dueAt = dueAt + CASE id WHEN 1 THEN 3600000 ELSE 600000 END
                """, [.blob(Array("{}".utf8))])
        }
        try await box.store.write { transaction in
            for id in [Int64(1), 2, 3] {
                try MailQueue.retry(id, claimDuration: .seconds(610), in: transaction)
            }
        }
        let waits = try await Self.waits(in: box)
        #expect(waits[0] < 3_600_000)
        #expect(Array(waits.dropFirst()) == [600_000, 600_000])
        // With one process there are no claims.
        try await box.store.write { try MailQueue.retry(1, in: $0) }
        let due = try await MailQueue(store: box.store).due(fresh: 0, retries: 3, underWay: [])
        #expect(due.mails.map(\.id) == [1])
    }

    @Test func aBounceOfAMailThatWasSentSuppressesNothing() async throws {
        let box = try await SandboxStore(mailPlan)
        try await Self.queue(2, in: box)
        let queue = MailQueue(store: box.store)
        // Two processes tried mail 1.
        try await queue.record(1, .sent)
        for id in [Int64(1), 2] { try await queue.record(id, .bounced(problem: "Nobody")) }
        let suppressed = try await box.store.read {
            try $0.rows("SELECT address FROM suppressedAddresses", []).map { try $0.text("address") }
        }
        #expect(suppressed == ["ann+2@shop.example"])
    }

    @Test func aLinkIsForgottenOnceItIsSentAndTheRestAWeekLater() async throws {
        let transport = Transport(["rcpt@x.example": MailProblem(.recipient, "Nobody")])
        let post = try await MailPost(transport)
        try await post.ask("ann@shop.example")
        try await post.ask("rcpt@x.example")
        #expect(try await post.untilIt(is: "sent", to: "ann@shop.example").contentBytes > 0)
        #expect(!(try await post.content("ann@shop.example").contains("token")))
        #expect(try await post.untilIt(is: "bounced", to: "rcpt@x.example").contentBytes > 0)
        try await post.box.store.write { try MailQueue.forgetContent(in: $0) }
        #expect(try await post.row("rcpt@x.example").contentBytes > 0)
        #expect(try await post.row("ann@shop.example").contentBytes > 0)
        try await post.box.store.write { transaction in
            try transaction.execute("UPDATE mails SET dueAt = dueAt - 8 * 86400000")
            try MailQueue.forgetContent(in: transaction)
        }
        #expect(try await post.row("rcpt@x.example").contentBytes == 0)
        #expect(try await post.row("ann@shop.example").contentBytes == 0)
    }

    @Test func nothingMoreIsSentToAnAddressThatBounced() async throws {
        let transport = Transport(["Ghost@X.example": MailProblem(.recipient, "Nobody", reply: "550 no")])
        let post = try await MailPost(transport)
        try await post.ask("Ghost@X.example")
        try await post.untilIt(is: "bounced", to: "Ghost@X.example")
        #expect(try await post.suppressed() == ["ghost@x.example"])
        try await post.ask("ghost@x.EXAMPLE")
        let row = try await post.untilIt(is: "suppressed", to: "ghost@x.EXAMPLE", attempts: 0)
        #expect(row.attempts == 0)
        #expect(transport.attempts == ["Ghost@X.example"])
    }

    @Test func aMailIsGivenUpAfterItsTime() async throws {
        let transport = Transport(["ann@shop.example": MailProblem(.temporary, "Busy")])
        let post = try await MailPost(transport, retry: .milliseconds(50), giveUpAfter: .seconds(10))
        try await post.ask("ann@shop.example")
        let row = try await post.untilIt(is: "failed", to: "ann@shop.example")
        #expect(row.attempts >= 2)
        #expect(row.problem == "Given up. Busy")
    }

    @Test func aMailThatCannotBeComposedFailsAloneAndSaysWhy() async throws {
        let transport = Transport()
        let post = try await MailPost(transport)
        try await post.ask("not an address")
        try await post.ask("ann@shop.example", template: "order-shipped")
        try await post.ask("bob@shop.example")
        #expect(
            try await post.untilIt(is: "failed", to: "not an address").problem == "The address is not valid.")
        #expect(try await post.untilIt(is: "failed", to: "ann@shop.example").problem.contains("values"))
        try await post.untilIt(is: "sent", to: "bob@shop.example")
        #expect(transport.attempts == ["bob@shop.example"])
    }

    @Test func anUnknownTemplateIsRefusedWhenItIsAskedFor() async throws {
        let post = try await MailPost(Transport())
        for template in ["", "order-refund", "../password-reset", "layout"] {
            let error = await parseError { try await post.ask("ann@shop.example", template: template) }
            #expect(error?.code == .validationError, "\(template)")
        }
        #expect(try await post.box.count("SELECT count(*) FROM mails") == 0)
    }

    @Test func theSameKeyIsTheSameMail() async throws {
        let transport = Transport()
        let post = try await MailPost(transport)
        for _ in 0..<3 { try await post.ask("ann@shop.example", key: "order:1:mail") }
        try await post.untilIt(is: "sent", to: "ann@shop.example")
        try await post.ask("ann@shop.example", key: "order:1:mail")
        #expect(try await post.box.count("SELECT count(*) FROM mails") == 1)
        #expect(transport.attempts.count == 1)
    }

    @Test func anOutageDelaysAndLosesNothing() async throws {
        let addresses = (0..<30).map { "ann+\($0)@shop.example" }
        let down = MailProblem(.temporary, affectsAll: true, "Down")
        let transport = Transport(Dictionary(uniqueKeysWithValues: addresses.map { ($0, down) }))
        let post = try await MailPost(transport)
        for address in addresses { try await post.ask(address) }
        try await eventually("it was tried more than once", within: .seconds(30)) { transport.attempts.count > 6 }
        transport.heal()
        try await eventually("all are sent") {
            try await post.box.count("SELECT count(*) FROM mails WHERE state = 'sent'") == 30
        }
    }

    @Test(.enabled(if: testsRunOnSQLite)) func aSentMailWhoseRecordFailsIsNotSentAgain() async throws {
        let transport = Transport()
        let post = try await MailPost(transport)
        // Like a full disk: no row can become sent.
        try await post.box.store.write {
            try $0.execute(
                """
                CREATE TRIGGER full BEFORE UPDATE ON mails WHEN new.state = 'sent'
                BEGIN SELECT RAISE(ABORT, 'full'); END
                """)
        }
        try await post.ask("ann@shop.example")
        try await eventually("it was handed over") { transport.attempts.count == 1 }
        try await post.ask("bob@shop.example")
        try await eventually("others go on") { transport.attempts.contains("bob@shop.example") }
        try await post.box.store.write { try $0.execute("DROP TRIGGER full") }
        try await post.untilIt(is: "sent", to: "ann@shop.example", attempts: 0)
        try await post.untilIt(is: "sent", to: "bob@shop.example", attempts: 0)
        #expect(transport.attempts.count == 2)
    }

    @Test func stoppingWaitsForTheMailsUnderWay() async throws {
        let post = try await MailPost(Transport())
        for index in 0..<50 { try await post.ask("ann+\(index)@shop.example") }
        await post.sender.stop(within: .seconds(60))
        let sent = try await post.box.count("SELECT count(*) FROM mails WHERE state = 'sent'")
        for _ in 0..<3 {
            post.sender.wake()
            await Task.yield()
        }
        #expect(try await post.box.count("SELECT count(*) FROM mails WHERE state = 'sent'") == sent)
    }
}
