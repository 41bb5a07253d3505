import ParseProtocol

/// A field of a `$group`: an accumulator over the documents of a group.
struct GroupField {
    enum Kind: String {
        case sum, avg, min, max, first, last, push, addToSet, count
    }

    let kind: Kind
    let expression: AggregateExpression

    /// - Throws: `.invalidQuery` (102) for an invalid accumulator.
    init(_ json: JSON, name: String) throws {
        guard case .object(let members) = json, members.count == 1, let (operation, operand) = members.first,
            operation.hasPrefix("$"), let kind = Kind(rawValue: String(operation.dropFirst()))
        else {
            throw ParseError(
                .invalidQuery, "The field '\(name.prefix(100))' of $group must be an accumulator such as {\"$sum\":1}.")
        }
        if kind == .count, operand != [:] { throw ParseError(.invalidQuery, "$count in $group takes {}.") }
        self.kind = kind
        expression = kind == .count ? .constant(1) : try AggregateExpression(operand)
    }
}

/// The state of one field's accumulator for one group.
struct GroupAccumulator {
    private let field: GroupField
    private var sum = ExactSum()
    private var count = 0
    private var single: JSON?
    private var list: [JSON] = []
    private var seen: Set<JSON> = []

    init(_ field: GroupField) { self.field = field }

    mutating func add(_ document: JSON, _ budget: AggregateBudget) throws {
        if field.kind == .first, count > 0 { return }
        let value = try field.expression.value(in: document)
        switch field.kind {
        case .count: count += 1
        case .sum, .avg:
            guard let number = value?.doubleValue else { return }
            sum.add(number)
            count += 1
        case .min:
            if let value, !value.isNull, single == nil || ValueOrder.isBefore(value, single) {
                try replace(value, budget)
            }
        case .max:
            if let value, !value.isNull, single == nil || ValueOrder.isBefore(single, value) {
                try replace(value, budget)
            }
        case .first, .last:
            count += 1
            try replace(value ?? .null, budget)
        case .push:
            guard let value else { return }
            try budget.keep(value)
            list.append(value)
        case .addToSet:
            guard let value, seen.insert(value).inserted else { return }
            try budget.keep(value)
            list.append(value)
        }
    }

    private mutating func replace(_ value: JSON, _ budget: AggregateBudget) throws {
        try budget.keep(value, insteadOf: single)
        single = value
    }

    var result: JSON {
        switch field.kind {
        case .count: return .int(Int64(count))
        case .sum: return sum.value.isFinite ? JSON(number: sum.value) : .null
        case .avg:
            let average = sum.value / Double(count)
            return count > 0 && average.isFinite ? JSON(number: average) : .null
        case .min, .max, .first, .last: return single ?? .null
        case .push, .addToSet: return .array(list)
        }
    }
}
