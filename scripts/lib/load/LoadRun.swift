import Foundation

/// A run: the phases of a plan, or a search for the limit and the phases after it.
struct LoadRun {
    let driver: Driver
    let plan: PlanOptions
    private var results: [PhaseResult] = []

    init(_ driver: Driver, plan: PlanOptions) { (self.driver, self.plan) = (driver, plan) }

    /// - Returns: the completed phases, and the limit if it was searched for.
    mutating func run() async -> (phases: [PhaseResult], limit: FoundLimit?) {
        guard plan.findLimit else {
            for phase in LoadPlan(plan.wish).phases { await run(phase) }
            return (results, nil)
        }
        let limit = await findLimit()
        if let minutes = plan.minutes, let limit {
            let wish = LoadPlan.Wish(rate: limit * plan.share, seconds: minutes * 60, warmUpSeconds: plan.warmUp)
            for phase in LoadPlan(wish).phases { await run(phase) }
        }
        return (results, FoundLimit(rate: limit, bounds: plan.bounds))
    }

    private mutating func findLimit() async -> Double? {
        var search = LimitSearch(from: plan.rate, most: plan.most, precision: plan.precision)
        while true {
            switch search.action {
            case .found(let rate): return rate
            case .trial(let rate):
                var isKept = true
                for phase in LoadPlan.trial(rate: rate, seconds: plan.seconds, warmUpSeconds: plan.warmUp) {
                    isKept = await run(phase)
                }
                search.note(isKept: isKept)
            }
        }
    }

    /// - Returns: whether the promise was kept.
    @discardableResult
    private mutating func run(_ phase: Phase) async -> Bool {
        let (begin, figures) = await driver.run(phase)
        let problems = phase.isMeasured ? plan.bounds.problems(of: figures) : []
        let result = PhaseResult(phase: phase, begin: begin, figures: figures, problems: problems)
        results.append(result)
        if phase.isMeasured { LiveProgress.show(result) }
        return problems.isEmpty
    }
}
