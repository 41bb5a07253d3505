import ObjectStore
import ParseProtocol

/// The expected state after the operations that the applier reported as done.
struct OperationState {
    /// The documents by id, as returned by the writes.
    private var documents: [String: JSON] = [:]
    private var lastId: String?
    private let className = "Thing"

    mutating func apply(_ step: JSON, _ job: StoreTransaction, _ caller: Caller) throws {
        if let object = step["create"] {
            let created = try job.create(className, object, caller: caller)
            try require(documents[created.objectId] == nil, "An id was given twice.")
            documents[created.objectId] = created.document
            lastId = created.objectId
        } else if let changes = step["update"], let id = lastId {
            let updated = try job.update(className, id, changes, caller: caller)
            try require(
                Self.withoutRelations(updated.before) == documents[id].map(Self.withoutRelations),
                "\(updated.before) was there before, it should be \(documents[id] ?? .null)")
            documents[id] = updated.document
        } else if step["delete"] != nil, let id = lastId {
            let gone = try job.delete(className, id, caller: caller)
            try require(
                Self.withoutRelations(gone) == documents[id].map(Self.withoutRelations),
                "\(gone) was deleted instead of \(documents[id] ?? .null)")
            documents[id] = nil
            lastId = documents.keys.sorted().last
        }
    }

    /// Checks that the documents are stored as returned, in canonical form, within the size limit, and that each field
    /// has one type.
    func check(_ job: StoreTransaction, bytesMax: Int) throws {
        var types: [String: String] = [:]
        for (id, document) in documents {
            let text = try job.get(className, id, caller: .master)
            try require(text.count <= bytesMax + 20_000, "A document of \(text.count) bytes was stored.")
            let stored = try JSON(parsing: text)
            try require(
                Set(stored.objectValue?.keys.map { $0 } ?? []).isSuperset(
                    of: document.objectValue?.keys.map { $0 } ?? []), "Fields are missing in \(stored).")
            for (field, value) in stored.objectValue ?? [:] {
                guard value.wireType != "Relation" else { continue }
                try require(
                    document[field] == value,
                    "\(field) is stored as \(value) and was answered as \(document[field] ?? .null).")
                guard let type = Self.type(value), !["ACL", "objectId", "createdAt", "updatedAt"].contains(field) else {
                    continue
                }
                try require(types.updateValue(type, forKey: field) ?? type == type, "\(field) has values of two types.")
                try require(!Self.holdsOperator(value), "\(field) holds an operator: \(value)")
            }
            // A query by id finds exactly this document.
            let found = try job.count(Query(className: className, where: ["objectId": .string(id)]), caller: .master)
            try require(found == 1, "\(id) is found \(found) times.")
        }
        let count = try job.count(Query(className: className, where: [:]), caller: .master)
        try require(count == documents.count, "\(count) objects are stored, there should be \(documents.count).")
    }

    /// Omits relations: an object shows all relations of its class, including those added after the object was
    /// returned.
    private static func withoutRelations(_ document: JSON) -> JSON {
        .object((document.objectValue ?? [:]).filter { $0.value.wireType != "Relation" })
    }

    private static func type(_ value: JSON) -> String? {
        switch value {
        case .null: nil
        case .bool: "Boolean"
        case .int, .double: "Number"
        case .string: "String"
        case .array: "Array"
        case .object:
            (value.wireType ?? "Object") + (value.wireType == "Pointer" ? value["className"]?.stringValue ?? "" : "")
        }
    }

    private static func holdsOperator(_ value: JSON) -> Bool {
        switch value {
        case .array(let elements): elements.contains(where: holdsOperator)
        case .object(let members): members["__op"] != nil || members.values.contains(where: holdsOperator)
        default: false
        }
    }
}
