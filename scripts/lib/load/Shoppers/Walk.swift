/// A visit's sequence of steps: a state machine that chooses the shopper's next step. Prerequisites come first: a bag
/// before the checkout, a user before the bag.
package struct Walk: Sendable {
    /// The shopper's identity in the shop.
    package enum Identity: Sendable {
        case nobody, anonymous, customer
    }

    package private(set) var identity: Identity
    private let mix: Mix
    /// The number of requests in the visit.
    private let length: Int
    private var requests = 0
    /// The chosen step while its prerequisites run.
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

    /// Records a step's end. After a failed prerequisite, the chosen step is dropped.
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

    /// Only customers have favourites: other shoppers view the product again instead.
    private func possible(_ step: Step) -> Step { step == .favourite && identity != .customer ? .product : step }

    private func needed(before step: Step) -> Step {
        switch step {
        case .bag, .history: identity == .nobody ? .enter : step
        case .checkout: hasGoods ? step : needed(before: .bag)
        default: step
        }
    }
}
