import ObjectStore
import ParseProtocol
import ServiceKit

/// A search for accounts by the prefix of an address, a name or a user name, ignoring case, for the function
/// `accounts`. Excludes the user names of anonymous users.
package struct AccountSearch: Sendable {
    private let start: String
    private let limit: Int

    private static let charactersMin = 2
    private static let limitMax: Int64 = 50

    /// Queries of addresses, person names and user names, in display order. Each scans an index range and stops at a
    /// limit.
    private static let walks = [
        "SELECT userId FROM identities WHERE kind = 'email' AND value >= ? AND value < ? ORDER BY value LIMIT ?",
        "SELECT userId FROM personNames WHERE value >= ? AND value < ? ORDER BY value LIMIT ?",
        """
        SELECT userId FROM identities WHERE kind = 'username' AND value >= ? AND value < ? AND NOT EXISTS(
            SELECT 1 FROM identities AS other WHERE other.userId = identities.userId AND other.kind = 'auth:anonymous')
        ORDER BY value LIMIT ?
        """,
    ]

    /// - Throws: `.validationError` (142) for invalid parameters, and for a prefix of less than two characters.
    package init(_ parameters: JSON) throws {
        limit = Int(try parameters.listLimit(standard: 25, maximum: Self.limitMax))
        start = PersonNames.compared(try parameters.textParameter("search") ?? "")
        guard start.count >= Self.charactersMin else {
            throw ParseError(
                .validationError,
                "search must be the beginning of a name or an address, of at least \(Self.charactersMin) characters.")
        }
    }

    /// `{results, isMore}`, each account once.
    package func find(in reader: ObjectReader) throws -> JSON {
        var found: [String] = []
        var seen: Set<String> = []
        // So many rows belong to more than `limit` accounts, though several names of a person may have the prefix.
        let rowsMax = Int64(limit * PersonNames.perUserMax + 1)
        // All values with the prefix sort below the prefix plus the highest character.
        let bounds: [SQLValue] = [.text(start), .text(start + "\u{10FFFF}"), .int(rowsMax)]
        for walk in Self.walks {
            for row in try reader.rows(walk, bounds) {
                let userId = try row.text("userId")
                if seen.insert(userId).inserted { found.append(userId) }
            }
        }
        let results = try found.prefix(limit).compactMap { userId in
            try reader.documentIfFound("_User", userId, caller: .master).map {
                try AccountView.line($0, of: userId, reader)
            }
        }
        return ["results": .array(results), "isMore": .bool(found.count > limit)]
    }
}
