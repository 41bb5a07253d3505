import ParseProtocol

/// Converts the documents of one collection to rows, by the rules of Parse Server's storage in MongoDB.
struct RowConverter {
    let className: String
    /// The fields of the class by the schema; empty without one.
    let schema: [String: JSON]
    private(set) var values = ValueConverter()

    init(className: String, schema: [String: JSON]) {
        self.className = className
        self.schema = schema
    }

    /// Names of fields that Parse Server stores under another one.
    private static let renamed = [
        "_session_token": "sessionToken", "_last_used": "lastUsed", "_expiresAt": "expiresAt",
        "times_used": "timesUsed",
    ]
    private static let secrets: Set<String> = [
        "_hashed_password", "_perishable_token", "_perishable_token_expires_at", "_email_verify_token",
        "_email_verify_token_expires_at", "_account_lockout_expires_at", "_failed_login_count", "_password_changed_at",
        "_password_history",
    ]
    private static let linkPrefix = "_auth_data_"
    /// Fields that no pointer has.
    private static let reserved: Set<String> = ["", "objectId", "createdAt", "updatedAt", "ACL"]

    /// The id of a document; nil if it has none that can be used.
    static func id(of document: BSONDocument) -> String? {
        let text: String
        switch document["_id"] {
        case .string(let id)?, .objectId(let id)?: text = id
        case .int32(let number)?: text = String(number)
        case .int64(let number)?: text = String(number)
        case .double(let number)?:
            guard let whole = Int64(exactly: number) else { return nil }
            text = String(whole)
        default: return nil
        }
        let isPlain = !text.isEmpty && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
        return isPlain ? text : nil
    }

    /// - Throws: `UnreadableRow`.
    mutating func row(_ document: BSONDocument, at place: SourcePlace) throws -> MovedRow {
        if className.hasPrefix("_Join:") { return try relationRow(document, at: place) }
        guard let id = Self.id(of: document) else { throw UnreadableRow("Its _id is missing or no usable id.") }
        var row = MovedRow(className: className, objectId: id, fields: ["objectId": .string(id)], place: place)
        // The stored forms come last: where a row also has the plain form, they count.
        for element in document.elements where !element.name.hasPrefix("_") { try takePlain(element, into: &row) }
        for element in document.elements where element.name.hasPrefix("_") { try takeStored(element, into: &row) }
        row.fields["ACL"] = try acl(document)
        return row
    }

    private func relationRow(_ document: BSONDocument, at place: SourcePlace) throws -> MovedRow {
        let ids = ["owningId", "relatedId"].map { Self.id(of: BSONDocument(renaming: $0, of: document)) }
        guard let owningId = ids[0], let relatedId = ids[1] else {
            throw UnreadableRow("Its owningId or relatedId is missing or no usable id.")
        }
        return MovedRow(
            className: className, objectId: "\(owningId):\(relatedId)",
            fields: ["owningId": .string(owningId), "relatedId": .string(relatedId)], place: place)
    }

    private mutating func takePlain(_ element: BSONDocument.Element, into row: inout MovedRow) throws {
        let name = Self.renamed[element.name] ?? element.name
        switch name {
        case "objectId", "ACL": return
        case "createdAt", "updatedAt": return try takeTime(element.value, name, into: &row)
        // Parse Server puts it together from the columns `_auth_data_…`.
        case "authData" where className == "_User": return
        default: break
        }
        guard schema[name]?["type"] != "Relation" else { return }
        guard !JSON.isProhibited(name, .null) else {
            throw UnreadableRow("It has the prohibited key \(name.debugDescription).")
        }
        row.fields[name] = try values.json(element.value, name, of: fieldSchema(name))
    }

    /// The schema of a field. Dumps without a schema lack those of Parse's own classes too.
    private func fieldSchema(_ name: String) -> JSON? {
        if let field = schema[name] { return field }
        return className.hasPrefix("_") && ["expiresAt", "lastUsed"].contains(name) ? ["type": "Date"] : nil
    }

    private mutating func takeStored(_ element: BSONDocument.Element, into row: inout MovedRow) throws {
        let (name, value) = (element.name, element.value)
        switch name {
        case "_id", "_acl", "_rperm", "_wperm": return
        case "_created_at": try takeTime(value, "createdAt", into: &row)
        case "_updated_at": try takeTime(value, "updatedAt", into: &row)
        case _ where name.hasPrefix("_p_"): try takePointer(value, String(name.dropFirst(3)), into: &row)
        case _ where className == "_User" && name.hasPrefix(Self.linkPrefix):
            guard !value.isMissing, let link = try values.json(value, name) else { return }
            var links = row.fields["authData"] ?? [:]
            links[String(name.dropFirst(Self.linkPrefix.count))] = link
            row.fields["authData"] = links
        case _ where className == "_User" && Self.secrets.contains(name):
            guard !value.isMissing else { return }
            row.fields[name] = try values.json(value, name)
        default:
            guard let shown = Self.renamed[name] else {
                return values.note("The field \(name.debugDescription) is left out: Parse has no such column.")
            }
            guard !value.isMissing else { return }
            row.fields[shown] = try values.json(value, shown, of: fieldSchema(shown))
        }
    }

    private func takeTime(_ value: BSON, _ name: String, into row: inout MovedRow) throws {
        guard !value.isMissing else { return }
        let time: Timestamp?
        if case .date(let milliseconds) = value {
            time = try ValueConverter.timestamp(milliseconds)
        } else {
            time = value.stringValue.flatMap { Timestamp(iso: $0) }
        }
        guard let time else { throw UnreadableRow("Its \(name) is not a date.") }
        row.fields[name] = .string(time.iso)
        if name == "updatedAt" { row.updatedAt = time.milliseconds }
    }

    private mutating func takePointer(_ value: BSON, _ field: String, into row: inout MovedRow) throws {
        guard !value.isMissing else { return }
        if let type = schema[field]?["type"], type != "Pointer" {
            return values.note(
                "The pointers in \(field.debugDescription) are left out: the schema has no pointer there.")
        }
        guard let text = value.stringValue, let dollar = text.firstIndex(of: "$"), dollar != text.startIndex else {
            throw UnreadableRow("\(field.debugDescription) is not a pointer in the form Class$id.")
        }
        let (target, id) = (String(text[..<dollar]), String(text[text.index(after: dollar)...]))
        if let expected = schema[field]?["targetClass"]?.stringValue, expected != target {
            throw UnreadableRow(
                "\(field.debugDescription) points to the class \(target.debugDescription) and not to \(expected).")
        }
        guard !id.isEmpty, !Self.reserved.contains(field), !JSON.isProhibited(field, .null) else {
            throw UnreadableRow("\(field.debugDescription) is not a pointer in the form Class$id.")
        }
        row.fields[field] = .pointer(target, id)
    }

    /// The permissions; nil for a row that is open to all. A list that is missing means all, as in Parse Server's
    /// queries.
    private func acl(_ document: BSONDocument) throws -> JSON? {
        let lists = try ["read": "_rperm", "write": "_wperm"].mapValues { name -> [String]? in
            guard let list = document[name], !list.isMissing else { return nil }
            guard let elements = list.arrayValue, case let names = elements.compactMap(\.stringValue),
                names.count == elements.count
            else { throw UnreadableRow("Its \(name) is not a list of texts.") }
            return names
        }
        guard lists.values.contains(where: { $0 != nil }) else { return nil }
        var entries: [String: JSON] = [:]
        for (right, names) in lists {
            for name in names ?? ["*"] { entries[name, default: [:]][right] = true }
        }
        return .object(entries)
    }
}

extension BSONDocument {
    /// A document whose `_id` is a field of another one.
    fileprivate init(renaming field: String, of document: BSONDocument) {
        elements = document[field].map { [Element(name: "_id", value: $0)] } ?? []
    }
}
