import ParseProtocol

/// A field that differs between the old server and Satchel.
struct FieldDifference: Sendable, Equatable {
    var className: String
    var objectId: String
    /// Nil for an object that one side lacks.
    var field: String?
    /// In words, or shortened JSON; never a secret.
    var old: String
    var new: String

    var text: String { "\(className) \(objectId)\(field.map { " \($0)" } ?? ""): there \(old), here \(new)" }

    var json: JSON {
        [
            "className": .string(className), "objectId": .string(objectId), "field": field.map(JSON.string) ?? .null,
            "old": .string(old), "new": .string(new),
        ]
    }
}

enum RowComparison {
    /// The fields that differ. Fields that Satchel adds to objects without them count only if the old server has them.
    static func differences(_ row: MovedRow, _ object: [String: JSON]) -> [FieldDifference] {
        let old = Canonical.fields(row.fields, of: row.className)
        let new = Canonical.fields(object, of: row.className)
        let added = SuiteFields.added[row.className] ?? []
        return Set(old.keys).union(new.keys).sorted().compactMap { name in
            guard old[name] != new[name] else { return nil }
            let isAbsent = row.fields[name].map(\.isNull) ?? true
            guard !(isAbsent && added.contains(name)) else { return nil }
            return FieldDifference(
                className: row.className, objectId: row.objectId, field: name, old: shown(old[name], name),
                new: shown(new[name], name))
        }
    }

    private static let charactersMax = 80

    /// A value for messages.
    static func shown(_ value: JSON?, _ field: String) -> String {
        guard let value else { return "nothing" }
        guard !SuiteFields.isSecret(field) else { return "(not shown)" }
        let text = value.serializedText
        return text.count > charactersMax ? String(text.prefix(charactersMax)) + "…" : text
    }
}
