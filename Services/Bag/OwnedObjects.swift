import ObjectStore
import ParseProtocol

extension StoreTransaction {
    /// Objects changed at a time.
    private static let pageRows = 200

    /// Runs `work` for every object of the class whose `field` points to the user. It must take the object away, or give it to somebody
    /// else: what fits is asked for until nothing does.
    func forEach(
        _ className: String, of userId: String, _ field: String, where more: JSON = [:],
        _ work: (_ objectId: String, _ document: JSON) throws -> Void
    ) throws {
        var condition = more
        condition[field] = .pointer("_User", userId)
        let query = Query(className: className, where: condition, limit: Self.pageRows)
        while true {
            let documents = try documents(query, caller: .master)
            for document in documents {
                guard let id = document["objectId"]?.stringValue else { throw ParseError.internalError }
                try work(id, document)
            }
            if documents.count < Self.pageRows { return }
        }
    }
}
