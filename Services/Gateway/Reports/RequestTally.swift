import Messages

/// The properties by which the gateway counts requests.
package struct RequestKind: Hashable, Sendable {
    /// A class or a route.
    package var target: String
    package let verb: String
    package let sdk: ClientSDK
    /// First digit of the HTTP status.
    package let statusClass: UInt8

    package init(target: String, verb: String, sdk: ClientSDK, statusClass: UInt8) {
        self.target = target
        self.verb = verb
        self.sdk = sdk
        self.statusClass = statusClass
    }

    /// The common target of unknown classes and of classes past the limit.
    package static let otherTarget = "(other)"
}

/// Request counts waiting for analytics: collected per hour, sent as one numbered message at a time, which is retried
/// unchanged until it is acknowledged. No I/O.
package struct RequestTally: Sendable {
    private struct Slot: Hashable {
        let hour: Int64
        let kind: RequestKind
    }

    private let gateway: String
    private var sequence: UInt64 = 0
    private var waiting: [Slot: UInt64] = [:]
    private var underWay: RequestCounts?

    /// Lines that may wait while analytics is down, a few megabytes; past the limit targets are merged.
    private static let slotsMax = 20_000

    /// - Parameter gateway: identifies one run of one process.
    package init(gateway: String) { self.gateway = gateway }

    package mutating func add(_ counts: [RequestKind: UInt64], hour: Int64) {
        for (kind, count) in counts {
            var slot = Slot(hour: hour, kind: kind)
            if waiting.count >= Self.slotsMax, waiting[slot] == nil {
                var other = kind
                other.target = RequestKind.otherTarget
                slot = Slot(hour: hour, kind: other)
            }
            waiting[slot, default: 0] += count
        }
    }

    /// The message to send now; nil when there is nothing to send.
    package mutating func message() -> RequestCounts? {
        if let underWay { return underWay }
        guard !waiting.isEmpty else { return nil }
        sequence += 1
        let message = RequestCounts.with { message in
            message.gateway = gateway
            message.sequence = sequence
            message.counts = waiting.map { slot, count in
                .with {
                    $0.hour = slot.hour
                    $0.target = slot.kind.target
                    $0.verb = slot.kind.verb
                    $0.sdk = slot.kind.sdk.name
                    $0.deviceType = slot.kind.sdk.deviceType
                    $0.statusClass = UInt32(slot.kind.statusClass)
                    $0.count = count
                }
            }
        }
        waiting = [:]
        underWay = message
        return message
    }

    /// Analytics has stored the current message.
    package mutating func acknowledged() { underWay = nil }
}
