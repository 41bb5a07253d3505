import Messages
import ParseProtocol

/// The table of a relation in another server's database, `_Join:<field>:<Class>`: each row is a member.
struct ImportedRelation: Sendable {
    let field: String
    let className: String

    /// Nil for any other name.
    init?(_ table: String) {
        let parts = table.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, parts[0] == "_Join", Names.isFieldName(parts[1]),
            parts[2] == "_User" || parts[2] == "_Role" || Names.isIdentifier(parts[2])
        else { return nil }
        field = parts[1]
        className = parts[2]
    }

    /// The class of the members.
    /// - Throws: `.incorrectType` (111) unless the field is a relation.
    func target(in schema: JSON) throws(ParseError) -> String {
        guard schema["fields"]?[field]?["type"] == "Relation",
            let target = schema["fields"]?[field]?["targetClass"]?.stringValue
        else { throw ParseError(.incorrectType, "\(className) has no relation \(field): define it first.") }
        return target
    }

    /// The types of the columns of a CSV file.
    static let columns: JSON = ["owningId": ["type": "String"], "relatedId": ["type": "String"]]

    /// The change that adds the row's member. It fails for a row without ids, because it names no object.
    func addition(_ row: JSON, of target: String) -> JSON {
        let member = row["relatedId"]?.stringValue ?? ""
        let addition: JSON = ["__op": "AddRelation", "objects": [.pointer(target, member)]]
        return ["objectId": Names.isObjectId(member) ? row["owningId"] ?? "" : "", field: addition]
    }
}
