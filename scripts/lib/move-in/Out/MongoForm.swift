import Cryptography
import Foundation
import ParseProtocol

/// Parse Server's storage form in MongoDB: the opposite of `RowConverter`.
enum MongoForm {
    /// - Parameter fields: of the class's schema.
    static func document(_ row: MovedRow, _ fields: [String: JSON]) throws(UnstorableValue) -> BSONDocument {
        var document = BSONDocument()
        func add(_ name: String, _ value: BSON) { document.elements.append(.init(name: name, value: value)) }
        guard !hasMadeId(row.className) else {
            add("_id", .objectId(SHA256.hash(data: Array(row.objectId.utf8)).prefix(12).hex))
            for (name, value) in row.fields.sorted(by: { $0.key < $1.key }) { add(name, try interior(value)) }
            return document
        }
        add("_id", .string(row.objectId))
        for (name, value) in row.fields.sorted(by: { $0.key < $1.key }) {
            switch name {
            case "objectId", "className", "ACL": break
            case "createdAt", "updatedAt": add(name == "createdAt" ? "_created_at" : "_updated_at", try time(value))
            case "authData" where row.className == "_User":
                for (provider, link) in (value.objectValue ?? [:]).sorted(by: { $0.key < $1.key }) {
                    add("_auth_data_\(provider)", try interior(link))
                }
            case _ where value.wireType == "Relation": break
            default:
                if let target = pointer(value, fields[name]) {
                    add("_p_\(name)", .string("\(target.className)$\(target.objectId)"))
                } else {
                    add(names[name] ?? name, try top(value, fields[name]))
                }
            }
        }
        for (name, value) in permissions(row.fields["ACL"]) { add(name, value) }
        return document
    }

    /// Whether MongoDB chose the ids of these documents.
    private static func hasMadeId(_ className: String) -> Bool {
        RelationName(className) != nil || className == ClassKind.hooks
    }

    private static let names = ["lastUsed": "_last_used", "timesUsed": "times_used", "sessionToken": "_session_token"]

    private static func pointer(_ value: JSON, _ field: JSON?) -> (className: String, objectId: String)? {
        guard field.map({ $0["type"] == "Pointer" }) ?? true else { return nil }
        return value.pointerTarget
    }

    private static func time(_ value: JSON) throws(UnstorableValue) -> BSON {
        guard let text = value.stringValue ?? value["iso"]?.stringValue, let time = Timestamp(iso: text) else {
            throw UnstorableValue("A time is malformed.")
        }
        return .date(time.milliseconds)
    }

    /// A value of a field.
    private static func top(_ value: JSON, _ field: JSON?) throws(UnstorableValue) -> BSON {
        // Objects may hold typed values, which are stored as nested ones are.
        guard field?["type"] != "Object" else { return try interior(value) }
        switch value.wireType {
        case "File": return value["name"]?.stringValue.map(BSON.string) ?? .null
        case "GeoPoint": return .array(try place(value))
        case "Polygon":
            var corners: [BSON] = []
            for corner in value["coordinates"]?.arrayValue ?? [] {
                let pair = corner.arrayValue ?? []
                guard pair.count == 2 else { throw UnstorableValue("A corner of a polygon is malformed.") }
                corners.append(.array([try interior(pair[1]), try interior(pair[0])]))
            }
            return .document(
                BSONDocument(elements: [
                    .init(name: "type", value: .string("Polygon")),
                    .init(name: "coordinates", value: .array([.array(corners)])),
                ]))
        default: return try interior(value)
        }
    }

    private static func place(_ value: JSON) throws(UnstorableValue) -> [BSON] {
        guard let longitude = value["longitude"], let latitude = value["latitude"] else {
            throw UnstorableValue("A GeoPoint is malformed.")
        }
        return [try interior(longitude), try interior(latitude)]
    }

    /// A value at any depth: only Dates and Bytes have forms of their own there.
    static func interior(_ value: JSON) throws(UnstorableValue) -> BSON {
        switch value {
        case .null: return .null
        case .bool(let flag): return .bool(flag)
        case .int(let number): return Int32(exactly: number).map(BSON.int32) ?? .double(Double(number))
        case .double(let number): return Int32(exactly: number).map(BSON.int32) ?? .double(number)
        case .string(let text): return .string(text)
        case .array(let elements):
            var values: [BSON] = []
            for element in elements { values.append(try interior(element)) }
            return .array(values)
        case .object(let members):
            switch value.wireType {
            case "Date": return try time(value)
            case "Bytes":
                guard let text = value["base64"]?.stringValue, let bytes = Data(base64Encoded: text) else {
                    throw UnstorableValue("Bytes are no Base64.")
                }
                return .binary(Array(bytes))
            default:
                var document = BSONDocument()
                for (name, member) in members.sorted(by: { $0.key < $1.key }) {
                    document.elements.append(.init(name: name, value: try interior(member)))
                }
                return .document(document)
            }
        }
    }

    /// `_rperm`, `_wperm` and `_acl`; none of them for an object that is open to all.
    private static func permissions(_ acl: JSON?) -> [(name: String, value: BSON)] {
        guard let entries = acl?.objectValue else { return [] }
        let sorted = entries.sorted { $0.key < $1.key }
        func list(_ right: String) -> BSON {
            .array(sorted.filter { $0.value[right] == true }.map { .string($0.key) })
        }
        let legacy = sorted.map { principal, rights in
            let granted = [("r", "read"), ("w", "write")].filter { rights[$0.1] == true }
            let members = granted.map { BSONDocument.Element(name: $0.0, value: .bool(true)) }
            return BSONDocument.Element(name: principal, value: .document(BSONDocument(elements: members)))
        }
        return [
            ("_rperm", list("read")), ("_wperm", list("write")),
            ("_acl", .document(BSONDocument(elements: legacy))),
        ]
    }

    // MARK: Schemas

    private static let types = [
        "String": "string", "Number": "number", "Boolean": "boolean", "Date": "date", "Object": "object",
        "Array": "array", "GeoPoint": "geopoint", "File": "file", "Bytes": "bytes", "Polygon": "polygon",
    ]

    /// A document of `_SCHEMA`.
    static func schema(_ schema: MovedClass) throws(UnstorableValue) -> BSONDocument {
        var document = BSONDocument(elements: [.init(name: "_id", value: .string(schema.name))])
        var options: [String: JSON] = [:]
        for (name, field) in schema.fields.sorted(by: { $0.key < $1.key })
        where name != "ACL" && (schema.name != "_User" || name != "password") {
            let type = field["type"]?.stringValue ?? "Object"
            let target = field["targetClass"]?.stringValue ?? ""
            let stored =
                switch type {
                case "Pointer": "*\(target)"
                case "Relation": "relation<\(target)>"
                default: types[type] ?? "object"
                }
            document.elements.append(.init(name: name, value: .string(stored)))
            let own = (field.objectValue ?? [:]).filter { ["required", "defaultValue"].contains($0.key) }
            if !own.isEmpty { options[name] = .object(own) }
        }
        var metadata: [String: JSON] = [:]
        if let permissions = schema.classLevelPermissions { metadata["class_permissions"] = permissions }
        if !options.isEmpty { metadata["fields_options"] = .object(options) }
        let indexes = Self.indexes(of: schema)
        if !indexes.isEmpty {
            var keys: [String: JSON] = ["_id_": ["_id": 1]]
            for index in indexes {
                keys[index.name] = .object(Dictionary(index.keys.map { ($0.0, JSON.int($0.1)) }) { $1 })
            }
            metadata["indexes"] = .object(keys)
        }
        if !metadata.isEmpty {
            document.elements.append(.init(name: "_metadata", value: try interior(.object(metadata))))
        }
        return document
    }

    /// The indexes with the names of stored fields. Those of texts and places are left out: the servers' forms differ.
    static func indexes(of schema: MovedClass) -> [(name: String, keys: [(String, Int64)])] {
        schema.indexes.sorted { $0.key < $1.key }.compactMap { name, index in
            let fields = LeavingIndex.fields(index)
            guard name != "_id_", !fields.isEmpty else { return nil }
            return (name: name, keys: fields.map { (column($0.name, schema.fields), $0.direction) })
        }
    }

    private static func column(_ field: String, _ fields: [String: JSON]) -> String {
        switch field {
        case "objectId": "_id"
        case "createdAt": "_created_at"
        case "updatedAt": "_updated_at"
        default: fields[field]?["type"] == "Pointer" ? "_p_\(field)" : field
        }
    }

    /// The file `<collection>.metadata.json` of mongodump, in extended JSON.
    static func metadata(_ schema: MovedClass) -> [UInt8] {
        func number(_ value: Int64) -> JSON { ["$numberInt": .string("\(value)")] }
        // The order of an index's fields counts, so their object is written here.
        let own = [(name: "_id_", keys: [("_id", Int64(1))])] + indexes(of: schema)
        let listed = own.map { index in
            let keys = index.keys.map { "\(JSON.string($0.0).serializedText):\(number($0.1).serializedText)" }
            return "{\"v\":\(number(2).serializedText),\"key\":{\(keys.joined(separator: ","))},"
                + "\"name\":\(JSON.string(index.name).serializedText)}"
        }
        let name = JSON.string(schema.name).serializedText
        return Array(
            "{\"indexes\":[\(listed.joined(separator: ","))],\"collectionName\":\(name),\"type\":\"collection\"}".utf8)
    }
}

/// The fields of an index in the form of Parse's schema route, in their order.
enum LeavingIndex {
    /// Empty unless it is a list of fields in ascending or descending order.
    static func fields(_ index: JSON) -> [(name: String, direction: Int64)] {
        let members = (index.objectValue ?? [:]).filter { !$0.key.hasPrefix("_") }
        let names = index["_order"]?.arrayValue?.compactMap(\.stringValue) ?? members.keys.sorted()
        let fields = names.compactMap { name in
            members[name]?.intValue.flatMap { [1, -1].contains($0) ? (name: name, direction: $0) : nil }
        }
        return fields.count == members.count ? fields : []
    }
}
