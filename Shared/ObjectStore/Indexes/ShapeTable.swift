import Foundation

/// The costly query shapes in the memory of a process: their recent cost, and the clients that ran them.
///
/// Does no I/O; time is an argument, in nanoseconds of a monotonic clock.
package struct ShapeTable: Sendable {
    /// The origin of a query.
    package enum Asker: Sendable, Hashable {
        /// The shop's operator, or the service itself.
        case shop
        /// A client's network, by a number that represents it.
        case network(Int)
    }

    /// A shape's recent use.
    package struct Use: Sendable, Hashable {
        /// SQLite instructions; half of them are forgotten every hour.
        package fileprivate(set) var cost = 0.0
        /// Runs, forgotten at the same rate.
        package fileprivate(set) var runs = 0.0
        /// Runs of the shop itself.
        package fileprivate(set) var shopRuns = 0.0
        /// Different networks, up to `networksMax`.
        package fileprivate(set) var networks: Set<Int> = []
        /// Different spans of ten minutes.
        package fileprivate(set) var spans = 0
        fileprivate var span: UInt64 = .max
        fileprivate var at: UInt64 = 0

        /// True when enough different clients or operators ran the query: one client must not cause an index that the
        /// shop keeps.
        package var isCommon: Bool {
            shopRuns >= ShapeTable.runsMin || networks.count >= ShapeTable.networksMin || spans >= ShapeTable.spansMin
        }

        /// Whether an index is worth its cost.
        package var isCostly: Bool { runs >= ShapeTable.runsMin && cost >= ShapeTable.costMin }

        fileprivate mutating func fade(to now: UInt64) {
            let rest = exp2(-Double(now &- min(at, now)) / ShapeTable.halfLife)
            cost *= rest
            runs *= rest
            shopRuns *= rest
            // The earlier clients ran the query so long ago that they no longer count.
            if runs < 0.5 { (networks, spans) = ([], 0) }
            at = now
        }
    }

    /// Limit of remembered shapes; a new one replaces the cheapest.
    package static let shapesMax = 256
    /// Minimum instructions of a run that counts, about two milliseconds. Checking a row takes about five instructions,
    /// one of which reads the document.
    package static let runCostMin = 5_000
    /// Minimum recent runs and instructions that an index must save: eight runs, and about twenty milliseconds.
    package static let runsMin = 7.5
    package static let costMin = 50_000.0
    /// Minimum number of client networks, or of ten-minute spans with queries.
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

    /// Forgets shapes that an index now serves or that cannot be served: their earlier cost no longer matters.
    package mutating func forget(_ isMeant: (QueryShape) -> Bool) { uses = uses.filter { !isMeant($0.key) } }

    /// The shapes that are currently worth an index.
    package mutating func wanted(at now: UInt64) -> [QueryShape: Use] {
        for shape in uses.keys { uses[shape]?.fade(to: now) }
        return uses.filter { $0.value.isCostly && $0.value.isCommon }
    }

    private mutating func forgetCheapest(at now: UInt64) {
        for shape in uses.keys { uses[shape]?.fade(to: now) }
        if let cheapest = uses.min(by: { $0.value.cost < $1.value.cost })?.key { uses[cheapest] = nil }
    }
}
