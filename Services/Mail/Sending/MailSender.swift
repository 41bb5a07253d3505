import Logging
import ParseProtocol
import ServiceKit

/// Sends queued mails in each writing process, several at once, in no particular order.
///
/// A mail is marked as sent after the transport has accepted it. After a crash in between, the mail is sent again with
/// the same Message-ID. With several sending processes this happens when its claim expires.
package actor MailSender {
    package struct Settings: Sendable {
        package let schedule: RetrySchedule
        /// Concurrent mails of this process, 1 or more.
        package let connections: Int
        /// Concurrent mails to the mailboxes of one domain.
        package let perDomain: Int
        /// The free slots that the sender waits for before it reads the queue again while mails run. With a fast
        /// transport, it would otherwise read the queue once for each mail.
        package var roomMin = 1
        /// Maximum interval between checks of the queue. Mails are due by the wall clock, which may be set forward.
        package var pollInterval = Duration.seconds(10)

        /// - Parameter perDomain: nil gives one domain half of the connections.
        package init(schedule: RetrySchedule, connections: Int, perDomain: Int? = nil) {
            self.schedule = schedule
            self.connections = connections
            self.perDomain = perDomain ?? max(1, connections / 2)
        }

        /// Upper limit of the time until `dueAt`: twice the longest backoff, with room for its jitter, and at least
        /// twice the hour that a server may ask for. `dueAt` is also the end of a claim; a claim is shorter.
        package var longestWait: Duration { max(schedule.longest * 2, .seconds(7200)) }

        /// Retries get at most half of the connections, so that a few hanging mails never block the others.
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
    /// The mails being sent, and whether each is a retry.
    private var underWay: [Int64: Bool] = [:]
    private var domainLimits: DomainLimits
    private var isStopping = false
    /// Whether `startDue` runs, which may claim mails.
    private var isStartingMails = false
    /// Whether the queue may have retries. A false value is safe: the end of each attempt wakes the sender.
    private var mayHaveRetries = true

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
        domainLimits = DomainLimits(perDomain: settings.perDomain)
    }

    /// Called when a mail was queued.
    package nonisolated func wake() { wakeUp.ring() }

    /// The background work that sends.
    package nonisolated var work: BackgroundWork {
        BackgroundWork(
            "mail.send", every: settings.pollInterval, problem: "The mail queue could not be read.", logger: logger,
            wakeUp: wakeUp
        ) { [self] in
            try await startDue() ? .more : .due(at: try await nextDue())
        }
    }

    /// Starts no further mails and waits for the running ones: a mail that is interrupted between the server's reply
    /// and its record would be sent twice.
    package func stop(within limit: Duration) async {
        isStopping = true
        let end = ContinuousClock.now + limit
        while isStartingMails || !underWay.isEmpty, ContinuousClock.now < end {
            try? await Task.sleep(for: .milliseconds(20))
        }
    }

    /// - Returns: true when mails were skipped because their domain reached its limit. The next query leaves these
    ///   domains out, so it may find other mails.
    private func startDue() async throws -> Bool {
        guard room > 0, room >= settings.roomMin || underWay.isEmpty, !isStopping else {
            // While a mail runs, no poll time is needed, because its end wakes the sender. Otherwise `nextDue` asks for
            // the next retry.
            mayHaveRetries = underWay.isEmpty
            return false
        }
        isStartingMails = true
        defer { isStartingMails = false }
        // The query may read a row before the result of its mail is recorded. So mails that run when the query starts
        // are skipped.
        let busy = underWay
        let due = try await queue.due(
            fresh: room, retries: settings.retriesMax - busy.values.count { $0 }, underWay: Array(busy.keys),
            without: domainLimits.full)
        mayHaveRetries = due.mayHaveRetries
        var hasSkippedMails = false
        for mail in due.mails where busy[mail.id] == nil && room > 0 && !isStopping {
            let domain = DomainLimits.domain(of: mail.toAddress)
            guard domainLimits.begin(domain) else {
                hasSkippedMails = hasSkippedMails || MailQueue.canSkipDomain(domain)
                continue
            }
            underWay[mail.id] = mail.attempts > 0
            if !background.begin({ [self] in await deliver(mail, domain) }) {
                underWay[mail.id] = nil
                domainLimits.end(domain, after: nil)
            }
        }
        try await queue.releaseClaims(due.mails.filter { underWay[$0.id] == nil })
        return hasSkippedMails && room > 0 && !isStopping
    }

    /// When the next attempt is due; nil when none waits. Running mails wake the sender when they end.
    private func nextDue() async throws -> Timestamp? {
        if let resumesAt = health.resumesAt(from: .now) { return resumesAt }
        guard mayHaveRetries else { return nil }
        return try await queue.nextAttempt(underWay: Array(underWay.keys), without: domainLimits.full)
    }

    private var room: Int { health.slots(of: settings.connections, at: .now) - underWay.count }

    private func deliver(_ mail: QueuedMail, _ domain: String) async {
        let (step, time) = await attempt(mail)
        await record(mail, step)
        underWay[mail.id] = nil
        domainLimits.end(domain, after: time)
        wake()
    }

    /// - Returns: the next step, and the duration of the attempt. The duration is nil when it says nothing about the
    ///   recipient's domain: nothing was sent, or the problem affects every mail.
    private func attempt(_ mail: QueuedMail) async -> (step: RetrySchedule.Step, time: Duration?) {
        if mail.isSuppressed { return (.suppressed, nil) }
        let message: MailMessage
        do {
            message = try composer.compose(mail)
        } catch {
            logger.error("A mail cannot be sent.", metadata: ["mail.id": "\(mail.id)", "problem": "\(error)"])
            return (.failed(problem: "\(error)"), nil)
        }
        let start = ContinuousClock.now
        do {
            try await transport.send(message, name: mail.name)
            let time = ContinuousClock.now - start
            health.recordSuccess()
            return (settings.schedule.step(after: nil, attempts: mail.attempts + 1, age: .zero, jitter: 0), time)
        } catch {
            let time = ContinuousClock.now - start
            return (step(mail, after: error), error.affectsAll ? nil : time)
        }
    }

    private func step(_ mail: QueuedMail, after problem: MailProblem) -> RetrySchedule.Step {
        let metadata: Logger.Metadata = [
            "mail.id": "\(mail.id)", "mail.attempts": "\(mail.attempts + 1)", "problem": "\(problem.summary)",
        ]
        var outage: Duration?
        if problem.affectsAll {
            let (pause, shouldReport) = health.recordFailure(at: .now, retryAfter: problem.retryAfter)
            outage = pause
            if shouldReport {
                logger.error(
                    "Sending is paused after an error that affects every mail; it resumes by itself.",
                    metadata: metadata.merging(["pause": "\(pause)"]) { $1 })
            }
        } else {
            health.recordSuccess()
            switch problem.kind {
            case .configuration:
                logger.error(
                    """
                    The mail server refused a mail for a reason that only an operator can remove: check the settings \
                    and the account at the provider. Satchel retries the mail meanwhile.
                    """, metadata: metadata)
            case .temporary: logger.warning("A mail was not sent and will be retried.", metadata: metadata)
            case .recipient: logger.notice("A mail's address does not exist.", metadata: metadata)
            }
        }
        return settings.schedule.step(
            after: problem, attempts: mail.attempts + 1,
            age: .milliseconds(Timestamp.now.milliseconds - mail.queuedAt.milliseconds), outage: outage,
            jitter: .random(in: 0...1))
    }

    /// Records the result. While the record fails, for example because the disk is full, the mail counts as running:
    /// otherwise a sent mail would be sent again and again.
    private func record(_ mail: QueuedMail, _ step: RetrySchedule.Step) async {
        while true {
            do {
                return try await queue.record(mail.id, step)
            } catch {
                logger.error(
                    "The result of a mail could not be recorded.",
                    metadata: ["mail.id": "\(mail.id)", "error": "\(error)"])
                if isStopping { return }
                try? await Task.sleep(for: .seconds(1))
            }
        }
    }
}
