/// A visit's walk through the shop: a state machine that says what a shopper does next. What a step needs is done
/// before it: a bag before the checkout, a user before the bag.
package struct Walk: Sendable {
    /// Who the shopper is to the shop.
    package enum Identity: Sendable {
        case nobody, anonymous, customer
    }

    package private(set) var identity: Identity
    private let mix: Mix
    /// Requests after which the visit ends.
    private let length: Int
    private var requests = 0
    /// What was chosen, while what it needs is done.
    private var wanted: Step?
    private var hasGoods = false

    /// A new visit.
    package init(_ mix: Mix, isCustomer: Bool, using random: inout some RandomNumberGenerator) {
        self.mix = mix
        identity = isCustomer ? .customer : .nobody
        let mean = mix.visitRequests
        length = Int.random(in: max(1, mean / 2)...max(1, mean * 3 / 2), using: &random)
    }

    /// The next step; nil when the visit is over.
    package mutating func next(using random: inout some RandomNumberGenerator) -> Step? {
        guard requests > 0 else {
            requests = 1
            return .brands
        }
        guard requests < length || wanted != nil else { return nil }
        requests += 1
        let step = wanted ?? possible(mix.step(using: &random))
        let first = needed(before: step)
        wanted = first == step ? nil : step
        return first
    }

    /// Notes a step's end. After one that failed, what it was done for is given up.
    package mutating func ended(_ step: Step, succeeded: Bool) {
        guard succeeded else {
            wanted = nil
            return
        }
        switch step {
        case .enter: identity = .anonymous
        case .bag: hasGoods = true
        case .checkout: hasGoods = false
        default: break
        }
    }

    /// Favourites are for customers: others look at the product once more.
    private func possible(_ step: Step) -> Step { step == .favourite && identity != .customer ? .product : step }

    private func needed(before step: Step) -> Step {
        switch step {
        case .bag, .history: identity == .nobody ? .enter : step
        case .checkout: hasGoods ? step : needed(before: .bag)
        default: step
        }
    }
}
