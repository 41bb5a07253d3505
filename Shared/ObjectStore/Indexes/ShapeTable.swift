import Foundation

/// The costly shapes of queries in the memory of a process: what they cost lately, and who asks them.
///
/// Pure: time is an argument, in nanoseconds of a clock that does not go back.
package struct ShapeTable: Sendable {
    /// The clients that a query may come from.
    package enum Asker: Sendable, Hashable {
        /// The shop's operator, or the service itself.
        case shop
        /// A number that stands for a client's network.
        case network(Int)
    }

    /// A shape's recent use.
    package struct Use: Sendable, Hashable {
        /// SQLite's instructions, of which half are forgotten every hour.
        package fileprivate(set) var cost = 0.0
        /// Runs, forgotten at the same pace.
        package fileprivate(set) var runs = 0.0
        /// Those of the shop.
        package fileprivate(set) var shopRuns = 0.0
        /// Different networks, up to `networksMax`.
        package fileprivate(set) var networks: Set<Int> = []
        /// Different spans of ten minutes.
        package fileprivate(set) var spans = 0
        fileprivate var span: UInt64 = .max
        fileprivate var at: UInt64 = 0

        /// Whether it is the shop's own need: one client at one moment must not make the shop build what it keeps.
        package var isCommon: Bool {
            shopRuns >= ShapeTable.runsMin || networks.count >= ShapeTable.networksMin || spans >= ShapeTable.spansMin
        }

        /// Whether an index is worth its price.
        package var isCostly: Bool { runs >= ShapeTable.runsMin && cost >= ShapeTable.costMin }

        fileprivate mutating func fade(to now: UInt64) {
            let rest = exp2(-Double(now &- min(at, now)) / ShapeTable.halfLife)
            cost *= rest
            runs *= rest
            shopRuns *= rest
            // Whoever asked that long ago asks no more.
            if runs < 0.5 { (networks, spans) = ([], 0) }
            at = now
        }
    }

    /// Shapes that are remembered; the cheapest makes room for a new one.
    package static let shapesMax = 256
    /// Instructions below which a run is not worth a thought. Some five of them look at a row, of which one reads the
    /// document: these take about two milliseconds.
    package static let runCostMin = 5_000
    /// Recent runs and instructions that an index must spare: eight runs, and some twenty milliseconds.
    package static let runsMin = 7.5
    package static let costMin = 50_000.0
    /// Networks, or spans of ten minutes, from which clients must ask.
    package static let networksMin = 5
    package static let spansMin = 6
    private static let networksMax = 8
    private static let halfLife = 3600e9
    private static let spanLength: UInt64 = 600_000_000_000

    private var uses: [QueryShape: Use] = [:]

    package init() {}

    package var count: Int { uses.count }

    package mutating func note(_ shape: QueryShape, cost: Int, by asker: Asker, at now: UInt64) {
        guard cost >= Self.runCostMin else { return }
        if uses[shape] == nil, uses.count >= Self.shapesMax { forgetCheapest(at: now) }
        var use = uses[shape] ?? Use()
        use.fade(to: now)
        use.cost += Double(cost)
        use.runs += 1
        switch asker {
        case .shop: use.shopRuns += 1
        case .network(let network): if use.networks.count < Self.networksMax { use.networks.insert(network) }
        }
        if use.span != now / Self.spanLength {
            use.span = now / Self.spanLength
            use.spans += 1
        }
        uses[shape] = use
    }

    /// The shapes of a class are served, or cannot be: what they cost before says nothing any more.
    package mutating func forget(_ isMeant: (QueryShape) -> Bool) { uses = uses.filter { !isMeant($0.key) } }

    /// What is worth an index at this moment.
    package mutating func wanted(at now: UInt64) -> [QueryShape: Use] {
        for shape in uses.keys { uses[shape]?.fade(to: now) }
        return uses.filter { $0.value.isCostly && $0.value.isCommon }
    }

    private mutating func forgetCheapest(at now: UInt64) {
        for shape in uses.keys { uses[shape]?.fade(to: now) }
        if let cheapest = uses.min(by: { $0.value.cost < $1.value.cost })?.key { uses[cheapest] = nil }
    }
}
