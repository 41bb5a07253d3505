import ParseProtocol

/// A subscriber's query: the objects of a class that match a condition. Equal queries are matched once.
package struct LiveQuery: Sendable, Hashable {
    package let className: String
    /// The condition as canonical JSON text; `{}` for every object.
    package let condition: [UInt8]
    /// The fields in events; empty for all.
    package let keys: [String]
    /// An update event requires a change of one of these fields; empty for any.
    package let watch: [String]

    /// - Throws: `.invalidJSON` (107) when the condition is not valid JSON.
    package init(className: String, condition: [UInt8], keys: [String], watch: [String]) throws {
        self.className = className
        self.condition = try JSON(parsing: condition.isEmpty ? Array("{}".utf8) : condition).serialized
        self.keys = keys
        self.watch = watch
    }

    /// Limit of watched fields per subscription; as many as a class of a shop has.
    static let watchedMax = 100
}

extension ObjectReader {
    /// Checks whether a caller may subscribe to a query, with the same rules as a find.
    /// - Throws: `.operationForbidden` (119) for a class or a field that the caller may not query, `.invalidQuery`
    ///   (102) for a query that is invalid or cannot be live, else as a find.
    package func checkLive(_ query: LiveQuery, caller: Caller) throws {
        _ = try find(
            Query(className: query.className, where: query.condition, limit: 0, keys: query.keys), caller: caller)
        guard query.watch.count <= LiveQuery.watchedMax else {
            throw ParseError(.invalidQuery, "At most \(LiveQuery.watchedMax) fields can be watched.")
        }
        try reading {
            let info = schema.classes[query.className] ?? ClassInfo(unknown: query.className)
            _ = try LiveCondition(JSON(parsing: query.condition), of: info)
            let hidden = info.unqueryableFields(by: caller)
            for name in query.watch {
                let root = try FieldPath(inMemory: name).root
                guard !hidden.contains(root) else { throw LiveRights.hides(root, info.name) }
            }
        }
    }
}

extension ClassInfo {
    /// A class without objects, which clients may already subscribe to.
    fileprivate init(unknown name: String) {
        self.init(id: 0, name: name, fields: [:], permissions: .open, textFields: [])
    }
}

/// The rights of one caller to the changes of a class, as the class defines them at that time.
struct LiveRights {
    private let caller: Caller
    private let decision: ClassPermissions.Decision

    /// - Parameters:
    ///   - asked: the fields in the condition and the watched fields.
    ///   - namesOne: the condition is only one object's id; then the right to get it counts, as in a find.
    /// - Throws: `.operationForbidden` (119) and `.objectNotFound` (101) when the caller may no longer run the query.
    init(_ caller: Caller, _ info: ClassInfo, asked: Set<String>, namesOne: Bool) throws {
        self.caller = caller
        decision = try info.permissions.decide(namesOne ? .get : .find, caller, className: info.name)
        if let hidden = info.unqueryableFields(by: caller).intersection(asked).min() {
            throw LiveRights.hides(hidden, info.name)
        }
    }

    static func hides(_ field: String, _ className: String) -> ParseError {
        ParseError(.operationForbidden, "This user is not allowed to query \(field) on class \(className)")
    }

    func mayRead(_ image: LiveImage?) -> Bool {
        guard let image, image.access?.allowsReading(caller) ?? caller.isMaster else { return false }
        switch decision {
        case .allowed: return true
        case .whereUserIs(let fields): return ObjectDraft.namesCaller(caller, in: image.stored.fields, fields)
        }
    }
}

/// One side of a change with its parsed ACL.
struct LiveImage {
    let stored: StoredImage
    /// Nil for an unreadable ACL; then only the master key sees the object.
    let access: AccessControl?

    init(_ stored: StoredImage) {
        self.stored = stored
        access = try? AccessControl(stored.fields["ACL"])
    }
}
