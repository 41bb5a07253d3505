import ObjectStore
import ParseProtocol

extension StoreTransaction {
    /// Objects per query.
    private static let pageRows = 200

    /// Runs `work` for every object of the class, ordered by id.
    package func forAll(
        _ className: String, _ work: (_ objectId: String, _ document: JSON) throws -> Void
    ) throws {
        var last = ""
        while true {
            let page = try documents(
                Query(
                    className: className, where: ["objectId": ["$gt": .string(last)]], order: ["objectId"],
                    limit: Self.pageRows), caller: .master)
            for document in page {
                guard let id = document["objectId"]?.stringValue else { throw ParseError.internalError }
                try work(id, document)
                last = id
            }
            if page.count < Self.pageRows { return }
        }
    }

    /// Sets the ACL of each object without one to the ACL that an import would set (`defaultACL`). Keeps the objects'
    /// times.
    /// - Parameters:
    ///   - field: the pointer to the owner.
    ///   - unowned: the ACL of an object without an owner.
    package func closeObjects(
        _ className: String, owner field: String, unowned: JSON = [:], acl: (_ userId: String) -> JSON
    ) throws {
        guard hasClass(className) else { return }
        try forAll(className) { id, document in
            guard document["ACL"]?.isNull ?? true else { return }
            let owned = document[field]?.pointerTarget.map { acl($0.objectId) }
            _ = try update(
                className, id, ["ACL": owned ?? unowned, "updatedAt": document["updatedAt"] ?? .null], keepsTimes: true,
                caller: .master)
        }
    }

    /// Runs `work` for every object of the class whose `field` points to the user, when an account is deleted or its
    /// objects move to another account. `work` must delete the object or change its owner, because the query is
    /// repeated until it finds no object.
    /// - Throws: errors of `work`, and `ParseError.internalError` for an object that still matches after `work`.
    package func forEach(
        _ className: String, of userId: String, _ field: String, where more: JSON = [:],
        _ work: (_ objectId: String, _ document: JSON) throws -> Void
    ) throws {
        var condition = more
        condition[field] = .pointer("_User", userId)
        try forEach(className, where: condition, work)
    }

    /// Runs `work` for every object that matches a condition. `work` must change the object so that it no longer
    /// matches.
    package func forEach(
        _ className: String, where condition: JSON, _ work: (_ objectId: String, _ document: JSON) throws -> Void
    ) throws {
        let query = Query(className: className, where: condition, limit: Self.pageRows)
        var seen: Set<String> = []
        while true {
            let documents = try documents(query, caller: .master)
            for document in documents {
                // Prevents an endless loop over an object that still matches.
                guard let id = document["objectId"]?.stringValue, seen.insert(id).inserted else {
                    throw ParseError.internalError
                }
                try work(id, document)
            }
            if documents.count < Self.pageRows { return }
        }
    }
}
