import ParseProtocol

/// A running stage: takes documents one by one and passes its results to the next step.
protocol PipelineStep: AnyObject {
    /// Whether no further document can change the result, so that reading can stop.
    var isSatisfied: Bool { get }
    func take(_ document: JSON) throws
    /// Called after the last document.
    func finish() throws
}

/// A stage that buffers nothing. It finishes when the next step does, and is satisfied when the next step is, unless it
/// counts documents itself.
protocol PassingStep: PipelineStep {
    var next: any PipelineStep { get }
}

extension PassingStep {
    var isSatisfied: Bool { next.isSatisfied }
    func finish() throws { try next.finish() }
}

/// A `$match` that runs in memory.
final class MatchStep: PassingStep {
    private let condition: DocumentCondition
    let next: any PipelineStep
    private let budget: AggregateBudget

    init(_ condition: DocumentCondition, next: any PipelineStep, budget: AggregateBudget) {
        self.condition = condition
        self.next = next
        self.budget = budget
    }

    func take(_ document: JSON) throws {
        try budget.step()
        if try budget.decided({ try condition.holds(for: document, $0) }) { try next.take(document) }
    }
}

/// `$project`, `$addFields` and `$unset`.
final class ProjectStep: PassingStep {
    private let projection: Projection
    let next: any PipelineStep
    private let budget: AggregateBudget

    init(_ projection: Projection, next: any PipelineStep, budget: AggregateBudget) {
        self.projection = projection
        self.next = next
        self.budget = budget
    }

    func take(_ document: JSON) throws {
        try budget.step()
        let projected = try projection.apply(document)
        try budget.check(projected)
        try next.take(projected)
    }
}

/// `$skip` and `$limit`.
final class PageStep: PassingStep {
    private var skips: Int
    private var remaining: Int
    let next: any PipelineStep

    init(skip: Int = 0, limit: Int = .max, next: any PipelineStep) {
        skips = skip
        remaining = limit
        self.next = next
    }

    var isSatisfied: Bool { remaining == 0 || next.isSatisfied }

    func take(_ document: JSON) throws {
        if skips > 0 {
            skips -= 1
        } else if remaining > 0 {
            remaining -= 1
            try next.take(document)
        }
    }
}

/// `$unwind`: one document for each element of an array.
final class UnwindStep: PassingStep {
    private let path: AggregatePath
    private let keepsEmpty: Bool
    private let index: String?
    let next: any PipelineStep
    private let budget: AggregateBudget

    init(
        _ path: AggregatePath, keepsEmpty: Bool, index: String?, next: any PipelineStep, budget: AggregateBudget
    ) {
        self.path = path
        self.keepsEmpty = keepsEmpty
        self.index = index
        self.next = next
        self.budget = budget
    }

    func take(_ document: JSON) throws {
        try budget.step()
        switch path.value(in: document) {
        case .array(let elements)? where !elements.isEmpty:
            for (position, element) in elements.enumerated() {
                if isSatisfied { return }
                try budget.step()
                try pass(document, element, .int(Int64(position)))
            }
        case .array?, .null?, nil:
            if keepsEmpty { try pass(document, nil, .null) }
        case let value?: try pass(document, value, .null)
        }
    }

    private func pass(_ document: JSON, _ element: JSON?, _ position: JSON) throws {
        var document = UnwindStep.replaced(path.components[...], in: document, by: element)
        if let index { document[index] = position }
        try next.take(document)
    }

    private static func replaced(_ components: ArraySlice<String>, in value: JSON, by element: JSON?) -> JSON {
        guard let first = components.first, case .object(var members) = value else { return value }
        members[first] =
            components.count == 1
            ? element : members[first].map { replaced(components.dropFirst(), in: $0, by: element) }
        return .object(members)
    }
}
