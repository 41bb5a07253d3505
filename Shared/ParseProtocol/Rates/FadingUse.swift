import Foundation

/// The recent use of something by each of many, half of which is forgotten after a while. Where many wait, the one that
/// used least is next. Pure: time is an argument, in nanoseconds of any clock that does not go back.
package struct FadingUse<Key: Hashable & Sendable>: Sendable {
    private struct Use {
        var amount: Double
        var at: UInt64
    }

    /// Nanoseconds.
    private let halfLife: Double
    private let keysMax: Int
    /// The amount of use below which a key need not be remembered.
    private let negligible: Double
    private var uses: [Key: Use] = [:]

    /// - Parameters:
    ///   - halfLife: nanoseconds after which half is forgotten, above 0.
    ///   - keysMax: so many are remembered. Past the bound the heaviest are, whom it is about.
    ///   - negligible: an amount below which one makes room for another.
    package init(halfLife: Double = 10e9, keysMax: Int = 4096, negligible: Double = 1e6) {
        self.halfLife = halfLife
        self.keysMax = keysMax
        self.negligible = negligible
    }

    package var keyCount: Int { uses.count }

    /// The use by the key that is not yet forgotten at this moment; 0 for a key that is not known.
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
