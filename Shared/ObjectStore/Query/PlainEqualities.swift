import ParseProtocol

/// A condition that only compares fields with values, such as that for a customer's open order. Except for the values
/// it is always the same, and so is its SQL.
struct PlainEqualities {
    /// The condition without its values, for `CompiledQuery.Key`: the names of its fields, each followed by 0, or by 1
    /// for `$ne`.
    let form: [UInt8]
    /// The values in the order in which they are bound.
    let values: [SQLValue]

    /// - Parameter members: the members of the condition.
    /// - Returns: nil for a condition with anything except texts, whole numbers, Booleans and pointers, each for a
    ///   field of that type.
    init?(_ members: [String: JSON], of info: ClassInfo) {
        var form: [UInt8] = []
        var values: [SQLValue] = []
        for (name, member) in members.sorted(by: { $0.key < $1.key }) {
            var (value, sign): (JSON, UInt8) = (member, 0)
            if case .object(let operators) = member, operators.count == 1, let other = operators["$ne"] {
                (value, sign) = (other, 1)
            }
            var type = info.fields[name]
            if sign == 1, name == BuiltInField.objectId.rawValue { type = .string }
            switch (value, type) {
            case (.string(let text), .string) where !text.utf8.contains(0): values.append(.text(text))
            case (.int(let number), .number): values.append(.int(number))
            case (.bool(let flag), .boolean): values.append(.int(flag ? 1 : 0))
            case (.object(let pointer), .pointer(let className)):
                guard pointer.count == 3, let target = value.pointerTarget, target.className == className,
                    Names.isObjectId(target.objectId)
                else { return nil }
                values.append(.text(target.objectId))
            default: return nil
            }
            form.append(contentsOf: name.utf8)
            form.append(sign)
        }
        self.form = form
        self.values = values
    }

    /// Whether the query binds exactly these values, so that it can be reused with other values.
    func areBound(by compiled: CompiledQuery) -> Bool {
        compiled.arguments.count == values.count
            && zip(compiled.arguments, values).allSatisfy { argument, value in
                if case .value(let bound) = argument { bound == value } else { false }
            }
    }
}
