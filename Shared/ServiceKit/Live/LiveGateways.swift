import Messages

/// The gateways that have live queries with a writer, each with what it has yet to take. Pure.
///
/// A gateway numbers its subscriptions by itself. Here each has an id that no other one's has: the number behind the
/// gateway's place in a row.
struct LiveGateways {
    /// A notice with the objects that it shows.
    typealias Draft = (notice: LiveNotice, object: [UInt8]?, original: [UInt8]?)

    struct Gateway {
        /// Of the gateway in the suite, such as `gateway-2`.
        let place: String
        fileprivate let slot: UInt64
        /// The feed's name for it.
        fileprivate(set) var name: UInt64
        /// Nanoseconds of the feed's clock.
        var lastHeard: Int64 = 0
        var outbox = LiveOutbox()

        /// Begins anew: what it had is gone.
        mutating func begin(name: UInt64) {
            self.name = name
            outbox.removeAll()
        }

        /// Adds what is told of one change.
        /// - Parameters:
        ///   - position: the present one.
        ///   - isLatest: whether it is that of the change, which the last notice completes.
        mutating func add(_ drafts: [Draft], through position: UInt64, isLatest: Bool) {
            for (index, draft) in drafts.enumerated() {
                let isComplete = !isLatest || index == drafts.count - 1
                outbox.add(
                    draft.notice, object: draft.object, original: draft.original,
                    through: isComplete ? position : position - 1)
            }
        }
    }

    /// Numbers of a gateway are less than this: more than it makes in a thousand years.
    private static let numberBits: UInt64 = 48
    private static let numberMask: UInt64 = 1 << numberBits - 1
    /// More are not there at the same time in any sound suite; past them the one that was silent longest goes.
    static let countMax = 32

    private var known: [UInt64: Gateway] = [:]
    private var slots: [UInt64: UInt64] = [:]

    subscript(id: UInt64) -> Gateway? {
        get { known[id] }
        _modify { yield &known[id] }
    }

    var all: [UInt64] { Array(known.keys) }
    /// Those for which too much waits.
    var overfull: [UInt64] { known.filter { $0.value.outbox.isOverfull }.map(\.key) }

    /// Whether one of them knows the feed by a name.
    func use(_ name: UInt64) -> Bool { known.values.contains { $0.name == name } }

    func unheard(since moment: Int64) -> [UInt64] { known.filter { $0.value.lastHeard < moment }.map(\.key) }

    /// Those that must go when another one comes.
    func replaced(by id: UInt64, at place: String) -> [UInt64] {
        let former = known.filter { $0.value.place == place }.map(\.key)
        guard former.isEmpty, known.count >= Self.countMax else { return former }
        return known.min { $0.value.lastHeard < $1.value.lastHeard }.map { [$0.key] } ?? []
    }

    mutating func add(_ id: UInt64, at place: String, name: UInt64) {
        let slot = (0...UInt64(known.count)).first { slots[$0] == nil } ?? UInt64(known.count)
        slots[slot] = id
        known[id] = Gateway(place: place, slot: slot, name: name)
    }

    mutating func remove(_ id: UInt64) {
        if let slot = known.removeValue(forKey: id)?.slot { slots[slot] = nil }
    }

    // MARK: Numbers

    /// The id of a gateway's number; nil for a gateway that is not known.
    func id(of number: UInt64, at gateway: UInt64) -> UInt64? {
        guard let slot = known[gateway]?.slot, number <= Self.numberMask else { return nil }
        return slot << Self.numberBits | number
    }

    /// Says of ids whether they are a gateway's.
    func owns(_ gateway: UInt64) -> (UInt64) -> Bool {
        guard let slot = known[gateway]?.slot else { return { _ in false } }
        return { $0 >> Self.numberBits == slot }
    }

    /// The numbers behind ids, by gateway.
    func numbers(of ids: [UInt64]) -> [(gateway: UInt64, numbers: [UInt64])] {
        let bySlot = Dictionary(grouping: ids) { $0 >> Self.numberBits }
        return bySlot.compactMap { slot, ids in slots[slot].map { ($0, ids.map { $0 & Self.numberMask }) } }
    }
}
