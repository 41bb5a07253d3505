import Foundation
import ParseProtocol

/// New names for classes and fields, from the file of `--map`:
/// `{"classes": {"Item": "OldItem", "Log": null}, "fields": {"Item.length": "size"}, "decimals": {"Item.price": 2}}`.
/// Null skips a class or a field. `decimals` rounds numbers, half away from zero.
///
/// Field names are given with the old name of the class. Pointers, relations and `_Join` names follow their class;
/// pointers to a skipped class keep its name.
struct Mapping: Sendable, Equatable {
    enum Target: Sendable, Equatable {
        case renamed(String)
        case skipped
    }

    private var classes: [String: Target] = [:]
    /// By class, then by field.
    private var fields: [String: [String: Target]] = [:]
    /// By class, then by field.
    private var decimals: [String: [String: Int]] = [:]

    /// Changes nothing.
    init() {}

    /// - Throws: `MoveInError` for a file of another form.
    init(json: JSON) throws {
        guard let members = json.objectValue, Set(members.keys).isSubset(of: ["classes", "fields", "decimals"]),
            let classes = (members["classes"] ?? [:]).objectValue, let fields = (members["fields"] ?? [:]).objectValue,
            let decimals = (members["decimals"] ?? [:]).objectValue
        else {
            throw MoveInError(
                #"The mapping is not of the form {"classes": {"Old": "New"}, "fields": {"Old.a": "b"}, "#
                    + #""decimals": {"Old.price": 2}}."#)
        }
        var problems: [String] = []
        for (name, value) in classes {
            if let target = Self.target(value) {
                self.classes[name] = target
            } else {
                problems.append("classes: \(name) needs a name or null.")
            }
        }
        for (name, value) in fields {
            let parts = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            if let target = Self.target(value), parts.count == 2 {
                self.fields[parts[0], default: [:]][parts[1]] = target
            } else {
                problems.append("fields: \(name) is not Class.field with a name or null.")
            }
        }
        for (name, value) in decimals {
            let parts = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            if let count = value.intValue, (0...9).contains(count), parts.count == 2 {
                self.decimals[parts[0], default: [:]][parts[1]] = Int(count)
            } else {
                problems.append("decimals: \(name) is not Class.field with a number from 0 to 9.")
            }
        }
        try Self.report(problems)
    }

    private static func target(_ value: JSON) -> Target? {
        value.isNull ? .skipped : value.stringValue.map(Target.renamed)
    }

    // MARK: - Checking

    private static let fixedFields: Set<String> = ["objectId", "createdAt", "updatedAt", "ACL"]

    /// - Throws: `MoveInError` that lists every name that the source lacks, that Satchel refuses or that is used twice.
    func check(_ known: [MovedClass]) throws {
        let schemas = Dictionary(known.map { ($0.name, $0.fields) }, uniquingKeysWith: { first, _ in first })
        var problems: [String] = []
        for (name, target) in classes {
            if schemas[name] == nil { problems.append("classes: the source has no class \(name).") }
            if case .renamed(let new) = target, !Names.isClassName(new) {
                problems.append("classes: \(name) cannot become \(new), which is no name for a class.")
            }
        }
        let names = schemas.keys.filter { RelationName($0) == nil }
        problems += Self.repeated(names.compactMap(className)).map { "classes: two classes would be \($0)." }
        for (className, targets) in fields {
            guard let schema = schemas[className] else {
                problems.append("fields: the source has no class \(className).")
                continue
            }
            for (field, target) in targets {
                // A source without a schema knows its fields only after reading everything.
                if !schema.isEmpty, schema[field] == nil {
                    problems.append("fields: the source has no field \(className).\(field).")
                }
                if Self.fixedFields.contains(field) {
                    problems.append("fields: \(className).\(field) keeps its name.")
                }
                if case .renamed(let new) = target, !Names.isFieldName(new) || Self.fixedFields.contains(new) {
                    problems.append("fields: \(className).\(field) cannot become \(new), which is no name for a field.")
                }
            }
            let names = Set(schema.keys).union(targets.keys)
            problems += Self.repeated(names.compactMap { fieldName($0, in: className) }).map {
                "fields: two fields of \(className) would be \($0)."
            }
        }
        for (className, counts) in decimals {
            for field in counts.keys where schemas[className]?[field]?["type"] != "Number" {
                // A source without a schema knows its fields only after reading everything.
                guard schemas[className]?.isEmpty != true else { continue }
                problems.append("decimals: the source has no Number \(className).\(field).")
            }
        }
        try Self.report(problems)
    }

    private static func repeated(_ names: [String]) -> [String] {
        Dictionary(grouping: names, by: \.self).filter { $0.value.count > 1 }.keys.sorted()
    }

    private static func report(_ problems: [String]) throws {
        guard problems.isEmpty else {
            throw MoveInError((["The mapping is wrong:"] + problems.sorted()).joined(separator: "\n  "))
        }
    }

    // MARK: - Applying

    /// The class's name in Satchel; nil for a skipped class.
    func className(_ name: String) -> String? {
        if let relation = RelationName(name) {
            guard let owner = className(relation.className),
                let field = fieldName(relation.field, in: relation.className)
            else { return nil }
            return "_Join:\(field):\(owner)"
        }
        return Self.name(name, classes[name])
    }

    /// The field's name in Satchel; nil for a skipped field.
    func fieldName(_ name: String, in className: String) -> String? { Self.name(name, fields[className]?[name]) }

    private static func name(_ old: String, _ target: Target?) -> String? {
        switch target {
        case .renamed(let new)?: new
        case .skipped?: nil
        case nil: old
        }
    }

    /// The row as Satchel gets it; nil when its class is skipped.
    func row(_ row: MovedRow) -> MovedRow? {
        guard let className = className(row.className) else { return nil }
        guard !classes.isEmpty || fields[row.className] != nil || decimals[row.className] != nil else { return row }
        var row = row
        for (field, count) in decimals[row.className] ?? [:] {
            row.fields[field] = row.fields[field].map { Self.rounded($0, to: count) }
        }
        row.fields = renamed(row.fields, of: row.className).mapValues(value)
        row.className = className
        return row
    }

    /// The class as Satchel gets it; nil when it is skipped.
    func schema(_ old: MovedClass) -> MovedClass? {
        guard let className = className(old.name) else { return nil }
        var new = old
        new.name = className
        new.fields = renamed(old.fields, of: old.name).mapValues { field in
            guard let target = field["targetClass"]?.stringValue, case .renamed(let name)? = classes[target] else {
                return field
            }
            var field = field
            field["targetClass"] = .string(name)
            return field
        }
        new.classLevelPermissions = old.classLevelPermissions.map { permissions($0, of: old.name) }
        new.indexes = old.indexes.compactMapValues { index($0, of: old.name) }
        return new
    }

    /// Rounds the number that the text of the value shows: 19.995 becomes 20, though its double is below.
    private static func rounded(_ value: JSON, to decimals: Int) -> JSON {
        guard case .double(let number) = value, var exact = Decimal(string: "\(number)") else { return value }
        var rounded = Decimal()
        NSDecimalRound(&rounded, &exact, decimals, .plain)
        return Double("\(rounded)").map { JSON(number: $0) } ?? value
    }

    private func renamed(_ members: [String: JSON], of className: String) -> [String: JSON] {
        guard let targets = fields[className] else { return members }
        var result = members
        for name in targets.keys { result[name] = nil }
        for case (let name, .renamed(let new)) in targets where members[name] != nil { result[new] = members[name] }
        return result
    }

    private func value(_ value: JSON) -> JSON {
        switch value {
        case .array(let elements): return .array(elements.map(self.value))
        case .object(var members):
            if let type = members["__type"]?.stringValue, ["Pointer", "Object", "Relation"].contains(type),
                let target = members["className"]?.stringValue, case .renamed(let new)? = classes[target]
            {
                members["className"] = .string(new)
            }
            return .object(members.mapValues(self.value))
        default: return value
        }
    }

    /// Permissions name fields in `readUserFields`, `writeUserFields`, `pointerFields` and `protectedFields`.
    private func permissions(_ json: JSON, of className: String) -> JSON {
        guard fields[className] != nil, let members = json.objectValue else { return json }
        let new = members.map { name, value -> (String, JSON) in
            switch name {
            case "readUserFields", "writeUserFields": return (name, names(value, of: className))
            case "protectedFields":
                let groups = (value.objectValue ?? [:]).compactMap { group, list -> (String, JSON)? in
                    let prefix = "userField:"
                    guard group.hasPrefix(prefix) else { return (group, names(list, of: className)) }
                    return fieldName(String(group.dropFirst(prefix.count)), in: className).map {
                        (prefix + $0, names(list, of: className))
                    }
                }
                return (name, .object(Dictionary(groups, uniquingKeysWith: { first, _ in first })))
            default:
                guard let list = value["pointerFields"] else { return (name, value) }
                var value = value
                value["pointerFields"] = names(list, of: className)
                return (name, value)
            }
        }
        return .object(Dictionary(new, uniquingKeysWith: { first, _ in first }))
    }

    private func names(_ list: JSON, of className: String) -> JSON {
        guard let names = list.arrayValue else { return list }
        return .array(names.compactMap { $0.stringValue.flatMap { fieldName($0, in: className) }.map(JSON.string) })
    }

    /// An index in Satchel's form; nil when one of its fields is skipped.
    private func index(_ json: JSON, of className: String) -> JSON? {
        guard let members = json.objectValue else { return nil }
        var new: [String: JSON] = [:]
        for (name, direction) in members {
            guard let field = fieldName(Self.fieldName(ofColumn: name), in: className) else { return nil }
            new[field] = direction
        }
        return .object(new)
    }

    /// The field of a name that the old server's database uses.
    private static func fieldName(ofColumn name: String) -> String {
        if name.hasPrefix("_p_") { return String(name.dropFirst(3)) }
        return ["_id": "objectId", "_created_at": "createdAt", "_updated_at": "updatedAt"][name] ?? name
    }
}
