import Logging

/// Sends what is queued, in the process that writes. A mail is marked sent after the transport has it for good; a crash in between
/// sends the same mail again under the same Message-ID, which the transport knows.
struct MailDelivery: Sendable {
    private let queue: MailQueue
    private let composer: MailComposer
    private let transport: any MailTransport
    private let logger: Logger
    private let wakeUps: AsyncStream<Void>
    private let waker: AsyncStream<Void>.Continuation

    init(queue: MailQueue, composer: MailComposer, transport: any MailTransport, logger: Logger) {
        self.queue = queue
        self.composer = composer
        self.transport = transport
        self.logger = logger
        (wakeUps, waker) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Something was queued.
    func wake() { waker.yield() }

    func run() async {
        let timer = Task {
            // Finds mails whose next attempt is due, and what an earlier process left.
            while !Task.isCancelled {
                waker.yield()
                try? await Task.sleep(for: .seconds(1))
            }
        }
        defer { timer.cancel() }
        for await _ in wakeUps {
            do {
                while try await deliverDue() > 0 {}
            } catch {
                logger.error("The mail queue could not be worked on.", metadata: ["error": "\(error)"])
            }
        }
    }

    private func deliverDue() async throws -> Int {
        let mails = try await queue.due()
        guard !mails.isEmpty else { return 0 }
        var outcomes: [(id: Int64, outcome: MailQueue.Outcome)] = []
        for mail in mails { outcomes.append((mail.id, await deliver(mail))) }
        try await queue.record(outcomes)
        return mails.count
    }

    private func deliver(_ mail: QueuedMail) async -> MailQueue.Outcome {
        do {
            try await transport.send(try composer.compose(mail), name: mail.messageId)
            return .sent
        } catch let problem as MailComposer.Problem {
            logger.error("A mail cannot be sent.", metadata: ["mail.id": "\(mail.id)", "problem": "\(problem)"])
            return .impossible("\(problem)")
        } catch {
            logger.warning(
                "A mail was not sent and is tried again.",
                metadata: ["mail.id": "\(mail.id)", "mail.attempts": "\(mail.attempts + 1)", "error": "\(error)"])
            return .again(after: Self.pause(afterAttempts: mail.attempts + 1), "\(error)")
        }
    }

    /// Doubles from one second to ten minutes.
    private static func pause(afterAttempts attempts: Int) -> Duration {
        .seconds(min(600, 1 << min(attempts - 1, 10)))
    }
}
