import DequeModule
import Logging
import Outbound
import ParseProtocol
import Synchronization

/// The shadow mode: sends a sample of the reads that Satchel answered to the old server, and counts where its responses
/// differ. No request waits for it.
final class Shadow: Sendable {
    private struct State {
        /// Tasks, each with one read at the old server.
        var running = 0
        var waiting: Deque<ShadowRead> = []
        var waitingBytes = 0
        var tally = ShadowTally()
        var isLogging = false
    }

    private let settings: ShadowSettings
    private let limitMax: Int
    /// Its own: an old server that hangs takes no connection from webhooks.
    private let client: OutboundClient
    private let logger: Logger
    private let state = Mutex(State())

    private static let runningMax = 4
    private static let waitingMax = 64
    /// Bytes of the responses of waiting reads.
    private static let waitingBytesMax = 4 << 20
    private static let timeout = Duration.seconds(5)
    /// Between two lines of the log.
    private static let logPause = Duration.seconds(60)

    /// Nil without an old server.
    init?(_ configuration: GatewayConfiguration, logger: Logger) {
        guard let settings = configuration.shadow else { return nil }
        self.settings = settings
        self.logger = logger
        limitMax = configuration.limitMax
        client = OutboundClient(authorities: configuration.cloud.authorities)
        logger.notice(
            "A share of the reads goes to the old server, too.",
            metadata: ["shadow.share": "\(settings.share)", "shadow.sends": "\(settings.sends.rawValue)"])
    }

    /// The report, with the reads that the old server has still to answer.
    var json: JSON {
        let (tally, underWay) = state.withLock { ($0.tally, $0.running + $0.waiting.count) }
        var report = tally.json
        report["underWay"] = .int(Int64(underWay))
        return report
    }

    /// Begins the counts anew.
    func reset() { state.withLock { $0.tally = ShadowTally() } }

    // MARK: - Reads

    /// Takes a sample of the answered requests. Copies no response and does not block.
    func offer(_ machine: RequestMachine, _ answer: ParseResponse) {
        guard answer.status == 200, machine.request.method == .get, Double.random(in: 0..<1) < settings.share,
            let read = ShadowRead(machine.request, machine.principal, answer, settings, limitMax: limitMax)
        else { return }
        let begins = state.withLock { state in
            guard read.answerBytes <= ShadowRead.answerBytesMax else {
                state.tally.tooLarge += 1
                return false
            }
            if state.running < Self.runningMax {
                state.running += 1
                return true
            }
            if state.waiting.count < Self.waitingMax, state.waitingBytes + read.answerBytes <= Self.waitingBytesMax {
                state.waiting.append(read)
                state.waitingBytes += read.answerBytes
            } else {
                state.tally.dropped += 1
            }
            return false
        }
        if begins { Task.detached(priority: .background) { await self.compare(read) } }
    }

    /// Compares a read, then those that wait.
    private func compare(_ first: ShadowRead) async {
        var next: ShadowRead? = first
        while let read = next {
            await compareOne(read)
            next = state.withLock { state -> ShadowRead? in
                guard let read = state.waiting.popFirst() else {
                    state.running -= 1
                    return nil
                }
                state.waitingBytes -= read.answerBytes
                return read
            }
        }
    }

    private func compareOne(_ read: ShadowRead) async {
        var request = OutboundRequest(
            .get, settings.url + read.target, headers: read.headers, timeout: Self.timeout)
        request.answerBytesMax = ShadowRead.answerBytesMax
        let answer: OutboundResponse
        do throws(OutboundFailure) {
            answer = try await client.send(request)
        } catch {
            return failed(error.reason.rawValue)
        }
        let parsed = try? JSON(parsing: answer.body)
        let isMissing =
            answer.status == 404 && read.question.objectId != nil
            && parsed?["code"]?.intValue == Int64(ParseError.Code.objectNotFound.rawValue)
        guard answer.status == 200 || isMissing else { return failed("\(answer.status)") }
        guard let there = isMissing ? JSON.null : parsed, let here = try? JSON(parsing: read.answerBody),
            let counts = ShadowCounts(read.question, here: here, there: there)
        else { return failed("malformed") }
        let begins = state.withLock { state in
            state.tally.add(counts, of: read.question.className)
            guard counts.differences > 0, !state.isLogging else { return false }
            state.isLogging = true
            return true
        }
        if begins { Task.detached(priority: .background) { await self.log() } }
    }

    private func failed(_ reason: String) { state.withLock { $0.tally.failed(reason) } }

    /// Writes a line of the log, and another after each pause with new differences.
    private func log() async {
        while let differences = unlogged() {
            logger.notice(
                "Answers of the old server differ; see /operations/shadow.",
                metadata: ["shadow.differences": "\(differences)"])
            try? await Task.sleep(for: Self.logPause)
        }
    }

    private func unlogged() -> Int? {
        state.withLock { state in
            let differences = state.tally.takeUnlogged()
            state.isLogging = differences != nil
            return differences
        }
    }
}
