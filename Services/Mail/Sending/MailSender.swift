import Logging
import ParseProtocol
import ServiceKit

/// Sends what is queued, in each process that writes; several mails at once, in no particular order.
///
/// A mail is marked sent after the transport has it for good. A crash in between sends the same mail again, under the
/// same Message-ID; where several processes send, once its claim is over.
package actor MailSender {
    package struct Settings: Sendable {
        package let schedule: RetrySchedule
        /// Mails of this process under way at once, 1 or more.
        package let connections: Int
        /// Between two looks at the queue at most. Mails are due by the wall clock, which may be set forward.
        package var pause = Duration.seconds(10)

        package init(schedule: RetrySchedule, connections: Int) {
            self.schedule = schedule
            self.connections = connections
        }

        /// Mails that failed before get half of the connections, so that a few which hang never hold up the others.
        var retriesMax: Int { max(1, connections / 2) }
    }

    private let queue: MailQueue
    private let composer: MailComposer
    private let transport: any MailTransport
    private let settings: Settings
    private let logger: Logger
    private let background: BackgroundGroup
    private nonisolated let wakeUp = WakeUp()

    private var health: ServerHealth
    /// The mails under way, and whether each failed before.
    private var underWay: [Int64: Bool] = [:]
    private var isStopping = false
    /// Whether mails are being taken that nobody else may take.
    private var isTaking = false

    package init(
        queue: MailQueue, composer: MailComposer, transport: any MailTransport, settings: Settings,
        background: BackgroundGroup, logger: Logger
    ) {
        self.queue = queue
        self.composer = composer
        self.transport = transport
        self.settings = settings
        self.background = background
        self.logger = logger
        health = ServerHealth(first: settings.schedule.first)
    }

    /// Something was queued.
    package nonisolated func wake() { wakeUp.ring() }

    /// Sending.
    package nonisolated var work: BackgroundWork {
        BackgroundWork(
            "mail.send", every: settings.pause, problem: "The mail queue could not be read.", logger: logger,
            wakeUp: wakeUp
        ) { [self] in
            try await startDue()
            return .due(at: try await nextDue())
        }
    }

    /// Starts no other mail and waits for those under way: one that is cut off between the server's reply and our
    /// record of it would be sent twice.
    package func stop(within limit: Duration) async {
        isStopping = true
        let end = ContinuousClock.now + limit
        while isTaking || !underWay.isEmpty, ContinuousClock.now < end { try? await Task.sleep(for: .milliseconds(20)) }
    }

    private func startDue() async throws {
        guard room > 0, !isStopping else { return }
        isTaking = true
        defer { isTaking = false }
        // What is under way now may be recorded before the rows are here, which then are older than that: it is left
        // out whatever becomes of it meanwhile.
        let busy = underWay
        let due = try await queue.due(
            fresh: room, retries: settings.retriesMax - busy.values.count { $0 }, underWay: Array(busy.keys))
        for mail in due where busy[mail.id] == nil && room > 0 && !isStopping {
            underWay[mail.id] = mail.attempts > 0
            if !background.begin({ [self] in await deliver(mail) }) { underWay[mail.id] = nil }
        }
        try await queue.giveBack(due.map(\.id).filter { underWay[$0] == nil })
    }

    /// When the next attempt is due; nil when none waits. Those under way wake when they end.
    private func nextDue() async throws -> Timestamp? {
        if let resumesAt = health.resumesAt, resumesAt > .now { return resumesAt }
        return try await queue.nextAttempt(underWay: Array(underWay.keys))
    }

    private var room: Int { health.slots(of: settings.connections, at: .now) - underWay.count }

    private func deliver(_ mail: QueuedMail) async {
        await record(mail, await attempt(mail))
        underWay[mail.id] = nil
        wake()
    }

    private func attempt(_ mail: QueuedMail) async -> RetrySchedule.Step {
        if mail.isSuppressed { return .suppressed }
        let message: MailMessage
        do {
            message = try composer.compose(mail)
        } catch {
            logger.error("A mail cannot be sent.", metadata: ["mail.id": "\(mail.id)", "problem": "\(error)"])
            return .failed(problem: "\(error)")
        }
        do {
            try await transport.send(message, name: mail.messageId)
            health.worked()
            return settings.schedule.step(after: nil, attempts: mail.attempts + 1, age: .zero, jitter: 0)
        } catch {
            return step(mail, after: error)
        }
    }

    private func step(_ mail: QueuedMail, after problem: MailProblem) -> RetrySchedule.Step {
        let metadata: Logger.Metadata = [
            "mail.id": "\(mail.id)", "mail.attempts": "\(mail.attempts + 1)", "problem": "\(problem.summary)",
        ]
        var outage: Duration?
        if problem.affectsAll {
            let (pause, isNews) = health.failed(at: .now, asked: problem.pause)
            outage = pause
            if isNews { logger.error("Mails cannot be sent now; all of them wait.", metadata: metadata) }
        } else {
            health.worked()
            switch problem.kind {
            case .configuration:
                logger.error("The mail server refuses what we send. The settings need attention.", metadata: metadata)
            case .temporary: logger.warning("A mail was not sent and is tried again.", metadata: metadata)
            case .recipient: logger.notice("A mail's address does not exist.", metadata: metadata)
            }
        }
        return settings.schedule.step(
            after: problem, attempts: mail.attempts + 1,
            age: .milliseconds(Timestamp.now.milliseconds - mail.queuedAt.milliseconds), outage: outage,
            jitter: .random(in: 0...1))
    }

    /// Records what happened. A mail that was sent and whose record fails (a full disk) stays under way until the
    /// record succeeds: otherwise it would be sent again at once, and again.
    private func record(_ mail: QueuedMail, _ step: RetrySchedule.Step) async {
        while true {
            do {
                return try await queue.record(mail.id, step)
            } catch {
                logger.error(
                    "What became of a mail could not be recorded.",
                    metadata: ["mail.id": "\(mail.id)", "error": "\(error)"])
                if isStopping { return }
                try? await Task.sleep(for: .seconds(1))
            }
        }
    }
}
