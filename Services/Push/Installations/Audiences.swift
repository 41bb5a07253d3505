import ObjectStore
import ParseProtocol
import ServiceKit

/// Named, stored conditions on installations: `_Audience`.
enum Audiences {
    static let className = "_Audience"

    /// - Throws: `.pushMisconfigured` (115) for an audience that does not exist or has an invalid condition.
    static func condition(of id: String, in transaction: StoreTransaction) throws -> JSON {
        guard let text = try transaction.documentIfFound(className, id, caller: .master)?["query"]?.stringValue,
            let query = try? JSON(parsing: text), case .object = query
        else { throw unknown }
        return condition(in: query)
    }

    /// The condition in an audience's query. The query is either the condition itself or, as the PHP SDK writes it,
    /// find options with the condition as `where`.
    static func condition(in query: JSON) -> JSON {
        guard let options = query.objectValue, let condition = options["where"], condition.objectValue != nil,
            optionNames.isSuperset(of: options.keys)
        else { return query }
        return condition
    }

    private static let optionNames: Set<String> = [
        "where", "order", "limit", "skip", "count", "keys", "excludeKeys", "include", "includeAll", "readPreference",
        "includeReadPreference", "subqueryReadPreference", "hint", "comment",
    ]

    /// Counts one use.
    static func count(_ id: String, in transaction: StoreTransaction) throws {
        do {
            _ = try transaction.update(
                className, id, ["timesUsed": ["__op": "Increment", "amount": 1], "lastUsed": transaction.now.wire],
                caller: .master)
        } catch let error as ParseError where error.code == .objectNotFound {
            throw unknown
        }
    }

    private static let unknown = ParseError(.pushMisconfigured, "audience_id does not name an audience.")
}

/// An audience's condition is stored as JSON text, as all Parse dashboards write it.
struct AudienceRules: ClassRules {
    private static let nameBytesMax = 200

    func prepare(_ change: inout ProposedChange) async throws {
        guard change.verb != .delete else { return }
        if let query = change.object["query"] {
            let condition = query.stringValue.flatMap { try? JSON(parsing: $0) } ?? query
            guard case .object(let members) = condition, members["__op"] == nil else {
                throw ParseError(.invalidJSON, "query must be a JSON object, written as a string.")
            }
            change.object["query"] = .string(condition.serializedText)
        } else if change.verb == .create {
            throw ParseError(.missingRequiredField, "query is required.")
        }
        if change.verb == .create {
            guard let name = change.object["name"]?.stringValue, (1...Self.nameBytesMax).contains(name.utf8.count)
            else {
                throw ParseError(.missingRequiredField, "name is required.")
            }
        }
    }

    func before(_ change: inout ProposedChange, in transaction: StoreTransaction) throws {
        guard change.verb != .delete, let text = change.object["query"]?.stringValue else { return }
        let condition = Audiences.condition(in: try JSON(parsing: text))
        _ = try transaction.find(Query(className: "_Installation", where: condition, limit: 0), caller: .master)
    }
}

/// The rules of `_PushStatus`: only the service writes the results of a push. Those of another server are history.
struct PushStatusRules: ClassRules {
    func prepare(_ change: inout ProposedChange) async throws {
        guard change.verb == .delete || change.isImported || !change.caller.isMaster else {
            throw ParseError(.operationForbidden, "A _PushStatus is written by sending a push.")
        }
    }
}
