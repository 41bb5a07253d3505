import ParseProtocol

/// A Parse app in a dump or an export of MongoDB.
struct MongoServer: OldServer {
    let name: String
    private let collections: [String: MongoCollection]
    private let known: [String: MovedClass]

    /// Collections that are not classes, or that have no use after a move.
    private static let ignored: Set<String> = ["_SCHEMA", "_Idempotency", "_dummy"]

    /// - Parameters:
    ///   - collections: of all databases and apps of the source.
    ///   - prefix: of the app's collections.
    /// - Throws: `MoveInError` when the source has several apps and the prefix chooses none.
    init(name: String, _ collections: [MongoCollection], prefix: String) throws {
        self.name = name
        var ofApp: [String: MongoCollection] = [:]
        for collection in try Self.chosen(collections, prefix: prefix, in: name) { ofApp[collection.name] = collection }
        var known: [String: MovedClass] = [:]
        if let schemas = ofApp["_SCHEMA"] { known = try Self.classes(in: schemas) }
        for (className, entry) in known {
            for (field, type) in entry.fields where type["type"] == "Relation" {
                let relation = "_Join:\(field):\(className)"
                known[relation] = MovedClass(name: relation)
            }
        }
        ofApp = ofApp.filter { Self.isClass($0.key) }
        known = known.filter { Self.isClass($0.key) }
        for (className, collection) in ofApp {
            var entry = known[className] ?? MovedClass(name: className)
            entry.indexes.merge(collection.indexes) { $1 }
            entry.rows = collection.rows
            entry.bytes = collection.bytes
            known[className] = entry
        }
        for className in known.keys where className.hasPrefix("_Join:") {
            known[className]?.fields = ["owningId": ["type": "String"], "relatedId": ["type": "String"]]
            known[className]?.indexes = [:]
        }
        self.collections = ofApp
        self.known = known
    }

    func classes() async throws -> [MovedClass] { Array(known.values) }

    func read(_ className: String, since: Int64?, into sink: any RowSink) async throws {
        guard let collection = collections[className] else { return }
        let documents = try collection.documents()
        var converter = RowConverter(className: className, schema: known[className]?.fields ?? [:])
        var portion = RowPortion()
        var noted = 0
        while let item = try documents.next() {
            switch item {
            case .damaged(let place, let reason):
                try await sink.refuse(RefusedRow(className: className, objectId: nil, place: place, reason: reason))
            case .document(let document, let place):
                do {
                    portion.add(try converter.row(document, at: place), offset: documents.offset)
                } catch let problem as UnreadableRow {
                    let id = RowConverter.id(of: document)
                    try await sink.refuse(
                        RefusedRow(className: className, objectId: id, place: place, reason: problem.reason))
                }
            }
            for sentence in converter.values.notes[noted...] { try await sink.note(sentence, on: className) }
            noted = converter.values.notes.count
            if portion.isFull { try await sink.take(portion.removeAll()) }
        }
        if !portion.isEmpty { try await sink.take(portion.removeAll()) }
    }

    private static func classes(in schemas: MongoCollection) throws -> [String: MovedClass] {
        let documents = try schemas.documents()
        var classes: [String: MovedClass] = [:]
        while let item = try documents.next() {
            switch item {
            case .damaged(let place, let reason): throw MoveInError(place, reason)
            case .document(let document, let place):
                do {
                    let entry = try MovedClass(storedSchema: document)
                    classes[entry.name] = entry
                } catch let problem as UnreadableRow {
                    throw MoveInError(place, problem.reason)
                }
            }
        }
        return classes
    }

    private static func isClass(_ name: String) -> Bool {
        // A name with a dot is MongoDB's own: `system.views`, or `fs.chunks` of GridFS.
        !ignored.contains(name) && !name.contains(".")
    }

    /// The collections of the app with this prefix, without it.
    private static func chosen(
        _ collections: [MongoCollection], prefix: String, in source: String
    ) throws -> [MongoCollection] {
        let own = collections.filter { !["admin", "config", "local"].contains($0.database) }
        let schema = "_SCHEMA"
        var databases = Set(own.map(\.database))
        if databases.count > 1 { databases = Set(own.filter { $0.name == prefix + schema }.map(\.database)) }
        guard databases.count == 1, let database = databases.first else {
            let names = Set(own.map(\.database)).sorted().joined(separator: ", ")
            throw MoveInError(
                "\(source) has several databases (\(names)), not one with \(prefix)\(schema). Dump only the app's.")
        }
        let all = own.filter { $0.database == database }
        let prefixes = Set(all.filter { $0.name.hasSuffix(schema) }.map { String($0.name.dropLast(schema.count)) })
        guard prefixes.isEmpty || prefixes.contains(prefix) else {
            let names = prefixes.sorted().map { $0.isEmpty ? "none" : $0 }.joined(separator: ", ")
            throw MoveInError("\(source) has no app with the collection prefix \"\(prefix)\". Its prefixes: \(names).")
        }
        let longer = prefixes.filter { $0.count > prefix.count && $0.hasPrefix(prefix) }
        return all.compactMap { collection in
            guard collection.name.hasPrefix(prefix), !longer.contains(where: { collection.name.hasPrefix($0) }) else {
                return nil
            }
            var collection = collection
            collection.name = String(collection.name.dropFirst(prefix.count))
            return collection
        }
    }
}

/// Rows for a sink: at most some hundred, and some megabytes.
struct RowPortion {
    private var rows: [MovedRow] = []
    private var start = 0
    private var end = 0

    private static let rowsMax = 200
    private static let bytesMax = 4 << 20

    var isEmpty: Bool { rows.isEmpty }
    var isFull: Bool { rows.count >= Self.rowsMax || end - start >= Self.bytesMax }

    /// - Parameter offset: how far the source was read.
    mutating func add(_ row: MovedRow, offset: Int) {
        rows.append(row)
        end = offset
    }

    mutating func removeAll() -> [MovedRow] {
        defer {
            rows = []
            start = end
        }
        return rows
    }
}
