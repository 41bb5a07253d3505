/// The ended subscriptions that services still have to drop. No I/O.
///
/// Each service gets one message at a time. Numbers that are added while it is in flight go into the next one, so that
/// clients which begin and end many subscriptions cannot fill a queue.
package struct LiveUnsubscriptions {
    private var waiting: [String: [UInt64]] = [:]
    private var underWay: Set<String> = []

    package init() {}

    /// - Returns: the numbers of the message to send now; nil while a message is in flight.
    package mutating func add(_ numbers: [UInt64], of service: String) -> [UInt64]? {
        waiting[service, default: []] += numbers
        return underWay.contains(service) ? nil : next(service)
    }

    /// Called when the service has replied or the message was lost.
    /// - Returns: the numbers of the next message, which is in flight from now on; nil when there is none.
    package mutating func answered(_ service: String) -> [UInt64]? {
        underWay.remove(service)
        return next(service)
    }

    private mutating func next(_ service: String) -> [UInt64]? {
        guard let numbers = waiting.removeValue(forKey: service), !numbers.isEmpty else { return nil }
        underWay.insert(service)
        return numbers
    }
}
