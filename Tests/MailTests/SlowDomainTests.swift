import MailService
import ObjectStore
import ParseProtocol
import ServiceSupport
import Synchronization
import TestSupport
import Testing

/// A slow domain has one connection until its server accepts or refuses a mail quickly.
@Suite struct SlowDomainTests {
    /// Treats each mail as its address says; a mail to `held` waits until `release`.
    private final class Transport: MailTransport {
        private let begun = Mutex<[String]>([])
        private let isReleased = Mutex(false)

        func send(_ message: MailMessage, name: String) async throws(MailProblem) {
            let address = message.recipient.address
            begun.withLock { $0.append(address) }
            switch address.prefix(while: { $0 != "+" && $0 != "@" }) {
            case "ghost": throw MailProblem(.recipient, "Nobody")
            case "slow": try? await Task.sleep(for: DomainLimits.slowAfter)
            case "down": throw MailProblem(.temporary, affectsAll: true, "Down")
            case "held":
                while !isReleased.withLock({ $0 }), !Task.isCancelled { try? await Task.sleep(for: .milliseconds(20)) }
            default: break
            }
        }

        var held: [String] { begun.withLock { $0.filter { $0.hasPrefix("held") } } }
        func release() { isReleased.withLock { $0 = true } }
    }

    @Test func onlyAnAnswerAboutAMailShowsThatItsDomainIsFast() async throws {
        let transport = Transport()
        defer { transport.release() }
        let post = try await MailPost(transport)
        try await post.ask("ghost@x.example")
        try await post.untilIt(is: "bounced", to: "ghost@x.example")
        try await post.ask("slow@x.example")
        try await post.untilIt(is: "sent", to: "slow@x.example")

        // None of these three mails reaches the domain's server.
        try await post.ask("Ghost@x.example")
        try await post.untilIt(is: "suppressed", to: "Ghost@x.example", attempts: 0)
        try await post.ask("ann@x.example", template: "order-shipped")
        try await post.untilIt(is: "failed", to: "ann@x.example")
        try await post.ask("down@x.example")
        try await post.untilIt(is: "queued", to: "down@x.example")
        try await post.box.store.write {
            try $0.execute("UPDATE mails SET state = 'failed' WHERE toAddress = 'down@x.example'")
        }
        // Ends the outage.
        try await post.ask("bob@shop.example")
        try await post.untilIt(is: "sent", to: "bob@shop.example")

        for index in 1...2 { try await post.ask("held+\(index)@x.example") }
        try await eventually("a mail to the domain begins") { !transport.held.isEmpty }
        // The sender reaches this mail only after both others.
        try await post.ask("cat@shop.example")
        try await post.untilIt(is: "sent", to: "cat@shop.example")
        #expect(transport.held == ["held+1@x.example"])
        transport.release()
        for index in 1...2 { try await post.untilIt(is: "sent", to: "held+\(index)@x.example") }
    }
}
