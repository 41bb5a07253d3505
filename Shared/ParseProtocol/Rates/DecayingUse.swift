import Foundation

/// The recent use of something by each key, with exponential decay. Among waiting keys, the one with the least use
/// comes next. Does no I/O: time is an argument, in nanoseconds of any monotonic clock.
package struct DecayingUse<Key: Hashable & Sendable>: Sendable {
    private struct Use {
        var amount: Double
        var at: UInt64
    }

    /// In nanoseconds.
    private let halfLife: Double
    private let keysMax: Int
    /// The amount of use below which a key may be forgotten.
    private let negligible: Double
    private var uses: [Key: Use] = [:]

    /// - Parameters:
    ///   - halfLife: nanoseconds in which the use halves, above 0.
    ///   - keysMax: maximum number of remembered keys. When it is reached, keys with negligible use are removed; while
    ///     it is still full, new keys are not recorded. The heaviest keys, which scheduling depends on, thus remain.
    ///   - negligible: the amount below which a key is removed to make room.
    package init(halfLife: Double = 10e9, keysMax: Int = 4096, negligible: Double = 1e6) {
        self.halfLife = halfLife
        self.keysMax = keysMax
        self.negligible = negligible
    }

    package var keyCount: Int { uses.count }

    /// The remaining use of the key; 0 for an unknown key.
    package func amount(of key: Key, at now: UInt64) -> Double { uses[key].map { left(of: $0, at: now) } ?? 0 }

    package mutating func add(_ amount: UInt64, to key: Key, at now: UInt64) {
        if uses.count >= keysMax { uses = uses.filter { left(of: $0.value, at: now) > negligible } }
        guard uses.count < keysMax || uses[key] != nil else { return }
        uses[key] = Use(amount: self.amount(of: key, at: now) + Double(amount), at: now)
    }

    private func left(of use: Use, at now: UInt64) -> Double {
        use.amount * exp2(-Double(now &- min(use.at, now)) / halfLife)
    }
}
