import ParseProtocol

extension MovedClass {
    /// A class as a document of Parse Server's collection `_SCHEMA` describes it.
    ///
    /// `_client_permissions` of hosted Parse is not read: Parse Server ignores it too.
    /// - Throws: `UnreadableRow`.
    init(storedSchema document: BSONDocument) throws {
        guard let name = document["_id"]?.stringValue else { throw UnreadableRow("A schema has no class name.") }
        self.init(name: name)
        let metadata = document["_metadata"]?.documentValue
        var values = ValueConverter()
        func members(_ key: String) throws -> [String: JSON]? {
            try metadata?[key].flatMap { try values.json($0, key) }?.objectValue
        }
        let options = try members("fields_options") ?? [:]
        for element in document.elements where !element.name.hasPrefix("_") {
            guard let text = element.value.stringValue, let type = Self.fieldType(text) else { continue }
            // Names of options that are the type's own do not count.
            let more = options[element.name]?.objectValue ?? [:]
            fields[element.name] = .object(more.merging(type) { $1 })
        }
        fields["ACL"] = ["type": "ACL"]
        fields["objectId"] = ["type": "String"]
        for name in ["createdAt", "updatedAt"] { fields[name] = ["type": "Date"] }
        if let permissions = try members("class_permissions") {
            classLevelPermissions = .object(Self.closedPermissions.merging(permissions) { $1 })
        }
        indexes = try members("indexes")?.compactMapValues(Self.index) ?? [:]
        indexes["_id_"] = nil
    }

    /// A permission that a stored schema lacks is given to no client.
    private static let closedPermissions = Dictionary(
        uniqueKeysWithValues: [
            "find", "count", "get", "create", "update", "delete", "addField", "protectedFields",
        ].map { ($0, [:] as JSON) })

    private static let plainTypes = [
        "string": "String", "number": "Number", "boolean": "Boolean", "date": "Date", "map": "Object",
        "object": "Object", "array": "Array", "geopoint": "GeoPoint", "file": "File", "bytes": "Bytes",
        "polygon": "Polygon",
    ]

    private static func fieldType(_ text: String) -> [String: JSON]? {
        if text.hasPrefix("*") { return ["type": "Pointer", "targetClass": .string(String(text.dropFirst()))] }
        if text.hasPrefix("relation<"), text.hasSuffix(">") {
            let target = String(text.dropFirst("relation<".count).dropLast())
            return ["type": "Relation", "targetClass": .string(target)]
        }
        return plainTypes[text].map { ["type": .string($0)] }
    }

    /// The indexes in a file `<collection>.metadata.json` of mongodump.
    static func indexes(metadata text: [UInt8]) -> [String: JSON] {
        guard let metadata = try? JSON(parsing: text) else { return [:] }
        var result: [String: JSON] = [:]
        for entry in metadata["indexes"]?.arrayValue ?? [] {
            guard let name = entry["name"]?.stringValue, name != "_id_", var key = entry["key"]?.objectValue else {
                continue
            }
            for weight in entry["weights"]?.objectValue?.keys.sorted() ?? [] { key[weight] = "text" }
            result[name] = index(.object(key))
        }
        return result
    }

    /// An index with Parse's names of the fields; nil for one without fields.
    private static func index(_ key: JSON) -> JSON? {
        var fields: [String: JSON] = [:]
        for (name, value) in key.objectValue ?? [:] where name != "_fts" && name != "_ftsx" {
            let number = value["$numberInt"] ?? value["$numberLong"] ?? value["$numberDouble"]
            let direction = number?.stringValue.flatMap { Double($0) }.map { JSON(number: $0) } ?? value
            fields[fieldName(name)] = direction
        }
        return fields.isEmpty ? nil : .object(fields)
    }

    private static func fieldName(_ name: String) -> String {
        switch name {
        case "_id": "objectId"
        case "_created_at": "createdAt"
        case "_updated_at": "updatedAt"
        case _ where name.hasPrefix("_p_"): String(name.dropFirst(3))
        default: name
        }
    }
}
