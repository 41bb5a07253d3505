import Messages

/// The gateways with live queries at a writer, each with its pending notices. Pure.
///
/// Each gateway numbers its own subscriptions. Here a subscription has a unique id, which combines the gateway's slot
/// and the gateway's number.
struct LiveGateways {
    /// A notice with the documents of its objects.
    typealias Draft = (notice: LiveNotice, object: [UInt8]?, original: [UInt8]?)

    struct Gateway {
        /// The gateway's name in the suite, such as `gateway-2`.
        let replica: String
        fileprivate let slot: UInt64
        /// The name by which this gateway knows the feed.
        fileprivate(set) var name: UInt64
        /// Nanoseconds of the feed's clock.
        var lastHeard: Int64 = 0
        var outbox = LiveOutbox()

        /// Drops all notices and takes a new feed name.
        mutating func begin(name: UInt64) {
            self.name = name
            outbox.removeAll()
        }

        /// Adds the notices of one change.
        /// - Parameters:
        ///   - position: the current position.
        ///   - isLatest: whether the change is at that position, so that the last notice completes it.
        mutating func add(_ drafts: [Draft], through position: UInt64, isLatest: Bool) {
            for (index, draft) in drafts.enumerated() {
                let isComplete = !isLatest || index == drafts.count - 1
                outbox.add(
                    draft.notice, object: draft.object, original: draft.original,
                    through: isComplete ? position : position - 1)
            }
        }
    }

    /// A gateway's subscription numbers are below 2^48, more than it creates in a thousand years.
    private static let numberBits: UInt64 = 48
    private static let numberMask: UInt64 = 1 << numberBits - 1
    /// Limit of gateways, more than a suite has. Beyond it the gateway that was silent longest is dropped.
    static let countMax = 32

    private var known: [UInt64: Gateway] = [:]
    private var slots: [UInt64: UInt64] = [:]

    subscript(id: UInt64) -> Gateway? {
        get { known[id] }
        _modify { yield &known[id] }
    }

    var all: [UInt64] { Array(known.keys) }
    /// The gateways whose backlog exceeds the limit.
    var overfull: [UInt64] { known.filter { $0.value.outbox.isOverfull }.map(\.key) }

    /// Whether a gateway's backlog is so large that matching for late networks must pause.
    var areCrowded: Bool { known.values.contains { $0.outbox.isCrowded } }

    /// Whether a gateway knows the feed by this name.
    func use(_ name: UInt64) -> Bool { known.values.contains { $0.name == name } }

    func unheard(since moment: Int64) -> [UInt64] { known.filter { $0.value.lastHeard < moment }.map(\.key) }

    /// The gateways to drop when a new one registers.
    func replaced(by id: UInt64, at replica: String) -> [UInt64] {
        let former = known.filter { $0.value.replica == replica }.map(\.key)
        guard former.isEmpty, known.count >= Self.countMax else { return former }
        return known.min { $0.value.lastHeard < $1.value.lastHeard }.map { [$0.key] } ?? []
    }

    mutating func add(_ id: UInt64, at replica: String, name: UInt64) {
        let slot = (0...UInt64(known.count)).first { slots[$0] == nil } ?? UInt64(known.count)
        slots[slot] = id
        known[id] = Gateway(replica: replica, slot: slot, name: name)
    }

    mutating func remove(_ id: UInt64) {
        if let slot = known.removeValue(forKey: id)?.slot { slots[slot] = nil }
    }

    // MARK: Numbers

    /// The unique id for a gateway's number; nil for an unknown gateway.
    func id(of number: UInt64, at gateway: UInt64) -> UInt64? {
        guard let slot = known[gateway]?.slot, number <= Self.numberMask else { return nil }
        return slot << Self.numberBits | number
    }

    /// A predicate that is true for the ids of a gateway.
    func owns(_ gateway: UInt64) -> (UInt64) -> Bool {
        guard let slot = known[gateway]?.slot else { return { _ in false } }
        return { $0 >> Self.numberBits == slot }
    }

    /// The gateways' own numbers for ids, by gateway.
    func numbers(of ids: [UInt64]) -> [(gateway: UInt64, numbers: [UInt64])] {
        let bySlot = Dictionary(grouping: ids) { $0 >> Self.numberBits }
        return bySlot.compactMap { slot, ids in slots[slot].map { ($0, ids.map { $0 & Self.numberMask }) } }
    }
}
