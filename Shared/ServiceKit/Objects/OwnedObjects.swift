import ObjectStore
import ParseProtocol

extension StoreTransaction {
    /// Objects looked up at a time.
    private static let pageRows = 200

    /// Runs `work` for every object of the class whose `field` points to the user: when an account is deleted, or its
    /// things move to another. `work` must take the object away, or give it to somebody else: what fits is asked for
    /// until nothing does.
    /// - Throws: what `work` throws, and `ParseError.internalError` for an object that `work` left where it was.
    package func forEach(
        _ className: String, of userId: String, _ field: String, where more: JSON = [:],
        _ work: (_ objectId: String, _ document: JSON) throws -> Void
    ) throws {
        var condition = more
        condition[field] = .pointer("_User", userId)
        try forEach(className, where: condition, work)
    }

    /// Runs `work` in the same way for every object that fits a condition, which the object must not fit any more
    /// afterwards.
    package func forEach(
        _ className: String, where condition: JSON, _ work: (_ objectId: String, _ document: JSON) throws -> Void
    ) throws {
        let query = Query(className: className, where: condition, limit: Self.pageRows)
        var seen: Set<String> = []
        while true {
            let documents = try documents(query, caller: .master)
            for document in documents {
                // Without this the writer would never come to an end with an object that stays.
                guard let id = document["objectId"]?.stringValue, seen.insert(id).inserted else {
                    throw ParseError.internalError
                }
                try work(id, document)
            }
            if documents.count < Self.pageRows { return }
        }
    }
}
