import ParseProtocol

/// A pipeline split in two: the part that runs as SQL (the first `$match`, a `$sort` by plain columns, `$skip` and
/// `$limit`), and the stages that run in memory over its rows.
struct PipelinePlan {
    private(set) var query: Query
    private(set) var stages: ArraySlice<PipelineStage>
    /// Fields of the stored documents that the stages read; nil for all.
    private(set) var roots: Set<String>?

    /// More rows than any class can have.
    static let everything = 1 << 40

    init(_ pipeline: [PipelineStage], _ info: ClassInfo) throws {
        query = Query(className: info.name, limit: PipelinePlan.everything)
        stages = pipeline[...]
        try takeMatches(info)
        takeSort(info)
        if case .skip(let count)? = stages.first {
            query.skip = count
            stages.removeFirst()
        }
        if case .limit(let count)? = stages.first {
            query.limit = count
            stages.removeFirst()
        }
        roots = try PipelinePlan.roots(of: stages)
    }

    private mutating func takeMatches(_ info: ClassInfo) throws {
        var conditions: [JSON] = []
        // A query's condition does not support `$expr`.
        while case .match(let condition)? = stages.first, condition["$expr"] == nil {
            conditions.append(try StoredCondition(info: info).condition(condition))
            stages.removeFirst()
        }
        if conditions.isEmpty { return }
        query.condition = .value(conditions.count == 1 ? conditions[0] : ["$and": .array(conditions)])
    }

    private mutating func takeSort(_ info: ClassInfo) {
        guard case .sort(let keys)? = stages.first else { return }
        var order: [String] = []
        for (path, isDescending) in keys {
            // The database sorts other values differently.
            guard !path.isDotted, !path.isPointerText, PipelinePlan.isPlain(path.storedRoot, info) else { return }
            order.append((isDescending ? "-" : "") + path.storedRoot)
        }
        query.order = order
        stages.removeFirst()
    }

    private static func isPlain(_ field: String, _ info: ClassInfo) -> Bool {
        if BuiltInField(rawValue: field) != nil { return true }
        return switch info.fields[field] {
        case .string, .number, .boolean, .date: true
        default: false
        }
    }

    /// The fields read up to the first stage that creates new documents; later stages see only those.
    private static func roots(of stages: ArraySlice<PipelineStage>) throws -> Set<String>? {
        var all: Set<String> = []
        for stage in stages {
            switch stage {
            case .match(let condition):
                guard let roots = try DocumentCondition(condition).roots else { return nil }
                all.formUnion(roots)
            case .sort(let keys): all.formUnion(keys.map(\.path.storedRoot))
            case .unwind(let path, _, _): all.insert(path.storedRoot)
            case .lookup: return nil
            case .limit, .skip, .sample: break
            case .project(let projection): return projection.roots.map { all.union($0) }
            case .group(let key, let fields):
                return AggregateExpression.roots(of: [key] + fields.values.map(\.expression)).map { all.union($0) }
            case .count: return all
            }
        }
        return nil
    }

    /// Creates the steps of the stages and returns the first one.
    /// - Parameter find: reads objects of a class for a `$lookup`.
    func steps(
        to result: any PipelineStep, _ budget: AggregateBudget, find: @escaping (Lookup) throws -> LookupStep.Find
    ) throws -> any PipelineStep {
        var first = result
        for stage in stages.reversed() {
            switch stage {
            case .match(let condition):
                first = MatchStep(try DocumentCondition(condition), next: first, budget: budget)
            case .project(let projection): first = ProjectStep(projection, next: first, budget: budget)
            case .group(let key, let fields):
                first = GroupStep(key: key, fields: fields, next: first, budget: budget)
            case .sort(let keys): first = SortStep(keys, next: first, budget: budget)
            case .limit(let count): first = PageStep(limit: count, next: first)
            case .skip(let count): first = PageStep(skip: count, next: first)
            case .unwind(let path, let keepsEmpty, let index):
                first = UnwindStep(path, keepsEmpty: keepsEmpty, index: index, next: first, budget: budget)
            case .count(let name): first = CountStep(name, next: first)
            case .sample(let size): first = SampleStep(size, next: first, budget: budget)
            case .lookup(let lookup):
                first = LookupStep(lookup, find: try find(lookup), next: first, budget: budget)
            }
        }
        return first
    }
}
