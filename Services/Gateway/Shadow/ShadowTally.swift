import ParseProtocol

/// The results of all comparisons since the start or the last reset.
struct ShadowTally: Sendable {
    /// Reads that the full queue dropped.
    var dropped = 0
    /// Reads whose response here is too large to be compared.
    var tooLarge = 0
    private let since = Timestamp.now
    private var compared = 0
    private var equal = 0
    /// By reason, `timedOut` for example, or by status.
    private var failures: [String: Int] = [:]
    private var classes: [String: ShadowCounts] = [:]
    /// Reads of classes that no longer found a place.
    private var unlisted = 0
    private var unlogged = 0

    /// Clients choose the names of classes.
    private static let classesMax = 256

    mutating func failed(_ reason: String) { failures[reason, default: 0] += 1 }

    mutating func add(_ counts: ShadowCounts, of className: String) {
        compared += 1
        if counts.differences == 0 { equal += 1 }
        unlogged += counts.differences
        guard !counts.isEmpty else { return }
        if classes[className] != nil {
            classes[className]?.add(counts)
        } else if classes.count < Self.classesMax {
            classes[className] = counts
        } else {
            unlisted += 1
        }
    }

    /// The differences that the log does not have yet; nil for none.
    mutating func takeUnlogged() -> Int? {
        defer { unlogged = 0 }
        return unlogged > 0 ? unlogged : nil
    }

    var json: JSON {
        [
            "since": .string(since.iso), "compared": .int(Int64(compared)), "equal": .int(Int64(equal)),
            "dropped": .int(Int64(dropped)), "tooLarge": .int(Int64(tooLarge)), "unlisted": .int(Int64(unlisted)),
            "failures": .object(failures.mapValues { .int(Int64($0)) }),
            "classes": .array(classes.sorted { $0.key < $1.key }.map { $0.value.json(of: $0.key) }),
        ]
    }
}
