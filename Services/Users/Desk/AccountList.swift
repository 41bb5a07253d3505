import ObjectStore
import ParseProtocol
import ServiceKit

/// Every account, newest first, in pages by cursor, for the function `allAccounts`.
package struct AccountList: Sendable {
    private let limit: Int
    private let after: String

    private static let limitMax: Int64 = 100

    /// - Throws: `.validationError` (142) for invalid parameters.
    package init(_ parameters: JSON) throws {
        limit = Int(try parameters.listLimit(standard: 50, maximum: Self.limitMax))
        after = try parameters.textParameter("after", bytesMax: 6_000) ?? ""
    }

    /// `{results, cursor?}`. An anonymous user is marked and has no user name: the app drew it at random.
    /// - Throws: `.invalidQuery` (102) when `after` is no cursor of an earlier page.
    package func read(in reader: ObjectReader) throws -> JSON {
        var query = Query(className: "_User", where: [:], order: ["-$natural"], limit: limit)
        query.after = after
        let page = try JSON(parsing: reader.find(query, caller: .master).body)
        let users = page["results"]?.arrayValue ?? []
        var answer: JSON = [
            "results": .array(
                try users.map { user in
                    let userId = user["objectId"]?.stringValue ?? ""
                    var line = try AccountView.line(user, of: userId, reader)
                    guard try Identities.isAnonymous(userId, reader) else { return line }
                    line["username"] = nil
                    line["isAnonymous"] = true
                    return line
                })
        ]
        if users.count == limit { answer["cursor"] = page["cursor"] }
        return answer
    }
}
