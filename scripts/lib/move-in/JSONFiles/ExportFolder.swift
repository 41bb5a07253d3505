import ParseProtocol

/// Recognises the exports of hosted Parse, Back4App and SashiDo: a folder with a file of objects in the form of REST
/// for each class.
enum ExportFolder {
    /// - Returns: nil when the path is no such folder.
    /// - Throws: `MoveInError`.
    static func open(_ path: String) throws -> (any OldServer)? {
        guard FolderListing.isFolder(path) else { return nil }
        var classes: [String: String] = [:]
        var isExport = false
        for file in try FolderListing.files(path) {
            guard let stem = FolderListing.stem(file, ".json") else { continue }
            classes[FolderListing.decoded(stem)] = file
            guard let row = FolderListing.firstRow(file), row["_id"] == nil else { continue }
            isExport = isExport || ["objectId", "owningId", "className"].contains { row[$0] != nil }
        }
        guard isExport else { return nil }
        return try ExportServer(name: path, classes)
    }
}

/// A Parse app in such a folder.
struct ExportServer: OldServer {
    let name: String
    /// Paths of files by class.
    private let files: [String: String]
    private let known: [String: MovedClass]

    private static let schemaName = "_SCHEMA"
    /// How many objects of a class show its fields when the export has no schema.
    private static let sampleRows = 100

    init(name: String, _ files: [String: String]) throws {
        self.name = name
        self.files = files.filter { $0.key != Self.schemaName && $0.key != "_Idempotency" }
        var known: [String: MovedClass] = [:]
        if let path = files[Self.schemaName] { known = try Self.schemas(path) }
        for (className, path) in self.files {
            var entry = try known[className] ?? Self.sampled(className, path)
            entry.bytes = try FolderListing.rawBytes(path)
            known[className] = entry
        }
        self.known = known
    }

    func classes() async throws -> [MovedClass] { Array(known.values) }

    func read(_ className: String, since: Int64?, into sink: any RowSink) async throws {
        guard let path = files[className] else { return }
        let reader = try ByteReader(path: path)
        let rows = JSONRows(reader)
        var portion = RowPortion()
        while let (text, place) = try rows.next() {
            var json: JSON?
            do {
                let parsed = try JSON(clientText: text)
                json = parsed
                portion.add(try Self.row(parsed, className, at: place), offset: reader.offset)
            } catch {
                let reason = (error as? UnreadableRow)?.reason ?? (error as? ParseError)?.message ?? "\(error)"
                try await sink.refuse(
                    RefusedRow(
                        className: className, objectId: json?["objectId"]?.stringValue, place: place, reason: reason))
            }
            if portion.isFull { try await sink.take(portion.removeAll()) }
        }
        if !portion.isEmpty { try await sink.take(portion.removeAll()) }
    }

    /// - Throws: `UnreadableRow`.
    static func row(_ json: JSON, _ className: String, at place: SourcePlace) throws -> MovedRow {
        guard case .object(var fields) = json else { throw UnreadableRow("The row is no object.") }
        if className.hasPrefix("_Join:") {
            let names = ["owningId", "relatedId"]
            let ids = try names.map { try id(fields[$0], $0) }
            return MovedRow(
                className: className, objectId: ids.joined(separator: ":"),
                fields: Dictionary(zip(names, ids.map(JSON.string))) { $1 }, place: place)
        }
        if let key = json.prohibitedKey { throw UnreadableRow("It has the prohibited key \(key.debugDescription).") }
        let objectId = try id(fields["objectId"], "objectId")
        fields = fields.filter { $0.value.wireType != "Relation" }
        fields["className"] = nil
        fields["__type"] = nil
        if fields["ACL"] == .null { fields["ACL"] = nil }
        if className == "_User", let hash = fields.removeValue(forKey: "bcryptPassword") {
            fields["_hashed_password"] = hash
        }
        var row = MovedRow(className: className, objectId: objectId, fields: fields, place: place)
        for name in ["createdAt", "updatedAt"] {
            guard let value = fields[name], !value.isNull else { continue }
            guard let time = (value.stringValue ?? value["iso"]?.stringValue).flatMap({ Timestamp(iso: $0) }) else {
                throw UnreadableRow("Its \(name) is not a date.")
            }
            row.fields[name] = .string(time.iso)
            if name == "updatedAt" { row.updatedAt = time.milliseconds }
        }
        return row
    }

    private static func id(_ value: JSON?, _ name: String) throws -> String {
        guard let id = value?.stringValue, !id.isEmpty, id.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw UnreadableRow("Its \(name) is missing or no usable id.")
        }
        return id
    }

    // MARK: Schemas

    /// The answer of `GET /schemas`, which some exports contain.
    private static func schemas(_ path: String) throws -> [String: MovedClass] {
        let rows = JSONRows(try ByteReader(path: path))
        var classes: [String: MovedClass] = [:]
        while let (text, place) = try rows.next() {
            guard let schema = try? JSON(parsing: text), let name = schema["className"]?.stringValue else {
                throw MoveInError(place, "This is not the schema of a class.")
            }
            classes[name] = MovedClass(
                name: name, fields: schema["fields"]?.objectValue ?? [:],
                classLevelPermissions: schema["classLevelPermissions"], indexes: schema["indexes"]?.objectValue ?? [:])
        }
        return classes
    }

    /// A class with the types of its first objects' values. Each object shows all relations.
    private static func sampled(_ className: String, _ path: String) throws -> MovedClass {
        var entry = MovedClass(name: className)
        let rows = JSONRows(try ByteReader(path: path))
        for _ in 0..<sampleRows {
            // Reading the rows reports their faults.
            guard let text = (try? rows.next())?.text else { break }
            guard case .object(let members)? = try? JSON(parsing: text) else { continue }
            for (name, value) in members where entry.fields[name] == nil { entry.fields[name] = fieldType(name, value) }
        }
        return entry
    }

    private static func fieldType(_ name: String, _ value: JSON) -> JSON? {
        switch name {
        case "objectId": return ["type": "String"]
        case "createdAt", "updatedAt": return ["type": "Date"]
        case "ACL": return ["type": "ACL"]
        case "className", "__type", "bcryptPassword": return nil
        default: break
        }
        switch value {
        case .null: return nil
        case .bool: return ["type": "Boolean"]
        case .int, .double: return ["type": "Number"]
        case .string: return ["type": "String"]
        case .array: return ["type": "Array"]
        case .object:
            guard let type = value.wireType else { return ["type": "Object"] }
            guard let target = value["className"], type == "Pointer" || type == "Relation" else {
                return ["type": .string(type)]
            }
            return ["type": .string(type), "targetClass": target]
        }
    }
}
