import Foundation
import Logging
import Messages

/// Loses and delays the messages of a lane, as the file of `BusConfiguration.faults` demands. Used on the lane's thread
/// only.
///
/// Only requests and replies are lost: a connection delivers the others, or it ends. A reply with an invalidation is
/// not lost either, because the gateway relies on it for as long as the connection stands.
final class LaneFaults {
    private let file: String
    private let service: String
    private let logger: Logger
    private var rates = LaneFaultRates()
    /// The messages that the present faults have lost and delayed.
    private var lost = 0
    private var late = 0
    private var nextLook: BusClock.Milliseconds = 0
    /// Received messages with the time at which the lane gets them, in the order of their arrival.
    private var held: [(due: BusClock.Milliseconds, message: BusMessage)] = []

    /// Interval between two looks at the file.
    private static let interval: BusClock.Milliseconds = 200

    init(file: String, service: String, logger: Logger) {
        self.file = file
        self.service = service
        self.logger = logger
    }

    private func look() {
        let now = BusClock.now
        guard now >= nextLook else { return }
        nextLook = now + Self.interval
        let text = try? String(contentsOfFile: file, encoding: .utf8)
        let next = text.map { LaneFaultRates($0, for: service) } ?? LaneFaultRates()
        if next != rates { tell() }
        rates = next
    }

    /// `scripts/chaos` reads whether its faults had an effect.
    private func tell() {
        if lost + late > 0 {
            logger.warning(
                "A test's faults of the bus ended.",
                metadata: ["bus.delay": "\(rates.delayMilliseconds)", "bus.late": "\(late)", "bus.lost": "\(lost)"])
        }
        (lost, late) = (0, 0)
    }

    /// Whether a message that arrives or leaves is lost.
    func drops(_ message: BusMessage) -> Bool {
        look()
        let form = message.envelope.form
        guard form == .request || form == .reply, !message.envelope.hasForget else { return false }
        guard Double.random(in: 0..<1) < rates.dropped else { return false }
        lost += 1
        return true
    }

    /// Whether a received message waits; `due` returns it later. The order of messages stays.
    func holds(_ message: BusMessage) -> Bool {
        guard rates.delayMilliseconds > 0 || !held.isEmpty else { return false }
        held.append((BusClock.now + rates.delayMilliseconds, message))
        if rates.delayMilliseconds > 0 { late += 1 }
        return true
    }

    /// Whether messages wait.
    var isHolding: Bool { !held.isEmpty }

    /// The messages whose wait is over.
    func due() -> [BusMessage] {
        let now = BusClock.now
        let count = held.firstIndex { $0.due > now } ?? held.count
        defer { held.removeFirst(count) }
        return held.prefix(count).map(\.message)
    }

    /// The connection ended, so the held messages are lost.
    func disconnected() { held = [] }
}

/// How many messages of a service are lost, and how long the others take.
package struct LaneFaultRates: Equatable {
    /// The share of requests and replies that are lost, 0 to 1.
    package var dropped = 0.0
    /// The delay of each received message, 0 to a minute.
    package var delayMilliseconds: Int64 = 0

    /// No faults.
    package init() {}

    /// - Parameter text: lines of a service or `*`, a share and milliseconds, such as `bag 0.05 0`. The last line for
    ///   the service counts; others are ignored.
    package init(_ text: String, for service: String) {
        for line in text.split(whereSeparator: \.isNewline) {
            let parts = line.split(separator: " ")
            guard parts.count == 3, parts[0] == "*" || parts[0] == service, let dropped = Double(parts[1]),
                let delay = Int64(parts[2]), (0...1).contains(dropped), (0...60_000).contains(delay)
            else { continue }
            self.dropped = dropped
            delayMilliseconds = delay
        }
    }
}
