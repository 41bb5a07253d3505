import Foundation
import Logging
import Messages
import ParseProtocol
import ProcessKit

/// Sends the request counts to analytics every few seconds, and a last time when the gateway stops. A kill of the
/// gateway loses the counts of the last seconds.
struct RequestReporter: ProcessPart {
    let meter: RequestMeter
    let services: ServiceClient
    let logger: Logger

    private static let interval = Duration.seconds(2)
    /// Analytics may be stopping at the same time, and the supervisor waits 10 s.
    private static let lastTimeout = Duration.seconds(2)

    func run(until end: ProcessEnd) async throws {
        var tally = RequestTally(gateway: "\(Timestamp.now.milliseconds)-\(Names.random(8))")
        while await !end.arrives(within: Self.interval) {
            await report(&tally, timeout: .seconds(10))
        }
        await report(&tally, timeout: Self.lastTimeout)
    }

    private func report(_ tally: inout RequestTally, timeout: Duration) async {
        tally.add(meter.drain(), hour: Timestamp.now.milliseconds / 3_600_000)
        guard let message = tally.message() else { return }
        do {
            _ = try await services.write(
                AnalyticsCalls.requests, message, for: .init(),
                in: CallContext(trace: "requests-\(message.sequence)"), timeout: timeout)
            tally.acknowledged()
        } catch {
            logger.info(
                "Counts of requests wait for analytics.",
                metadata: ["requests.sequence": "\(message.sequence)", "error": "\(error.message)"])
        }
    }
}
