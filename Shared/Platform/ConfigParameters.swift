import ObjectStore
import ParseProtocol

/// The parameters of Config: values that apps request at start and operators change without an app release
/// (PARSE_PROTOCOL section 12). Each parameter is a row, so concurrent changes of different parameters do not conflict.
enum ConfigParameters {
    /// The limits of hosted Parse, for which apps were written.
    static let countMax: Int64 = 100
    static let bytesMax: Int64 = 131_072
    /// Same as the nesting limit of an object's document, so that clients can always parse the answer.
    private static let depthMax = 40

    /// The answer to `GET /config`. Values are stored as JSON text and sent unchanged. Only the master key and the
    /// admins get hidden parameters.
    static func answer(in reader: ObjectReader, caller: Caller) throws -> [UInt8] {
        let filter = caller.isOperator ? "" : "WHERE masterKeyOnly = 0"
        let rows = try reader.rows(
            "SELECT name, value, masterKeyOnly FROM configParameters \(filter) ORDER BY name")
        let values = try rows.map { try "\"\($0.text(0))\":\($0.text(1))" }.joined(separator: ",")
        guard caller.isOperator else { return Array("{\"params\":{\(values)}}".utf8) }
        let flags = try rows.map { try "\"\($0.text(0))\":\($0.int(2) != 0)" }.joined(separator: ",")
        return Array("{\"params\":{\(values)},\"masterKeyOnly\":{\(flags)}}".utf8)
    }

    /// Applies the body of `PUT /config`, including operations. Parameters that the body does not name are unchanged.
    /// - Throws: `.invalidKeyName` (105) for a bad name, `.invalidJSON` (107) and `.incorrectType` (111) for bad
    ///   values, `.objectTooLarge` (116) when a limit is exceeded; then nothing is changed.
    static func apply(_ body: JSON, in transaction: StoreTransaction) throws {
        guard case .object(let params) = body["params"] ?? [:],
            case .object(let flags) = body["masterKeyOnly"] ?? [:],
            body["params"] != nil || body["masterKeyOnly"] != nil
        else { throw ParseError(.invalidJSON, "params and masterKeyOnly must be objects.") }
        for (name, value) in params {
            guard Names.isFieldName(name) else {
                throw ParseError(.invalidKeyName, "Invalid parameter name: \(name.prefix(200)).")
            }
            if let value = try value.applied(to: stored(name, value, in: transaction), named: name) {
                try set(name, value, in: transaction)
            } else {
                _ = try transaction.execute("DELETE FROM configParameters WHERE name = ?", [.text(name)])
            }
        }
        for (name, flag) in flags {
            guard let isHidden = isDelete(flag) ? false : flag.boolValue else {
                throw ParseError(.invalidJSON, "masterKeyOnly must say true or false.")
            }
            _ = try transaction.execute(
                "UPDATE configParameters SET masterKeyOnly = ? WHERE name = ?", [.int(isHidden ? 1 : 0), .text(name)])
        }
        try checkSize(in: transaction)
    }

    /// Developers may neither change nor reveal a parameter that is hidden from them.
    /// - Throws: `.operationForbidden` (119) for a change that names a hidden parameter.
    static func requireVisible(_ change: JSON, in reader: ObjectReader) throws {
        let named = Set(["params", "masterKeyOnly"].flatMap { change[$0]?.objectValue?.keys.map { $0 } ?? [] })
        guard try named.isDisjoint(with: hidden(in: reader)) else {
            throw ParseError(.operationForbidden, "Only an admin changes hidden parameters.")
        }
    }

    /// Every parameter with its value and whether it is hidden, for the audit log.
    static func all(in reader: ObjectReader) throws -> JSON {
        try JSON(parsing: answer(in: reader, caller: .master))
    }

    /// The names of the hidden parameters.
    static func hidden(in reader: ObjectReader) throws -> Set<String> {
        Set(try reader.rows("SELECT name FROM configParameters WHERE masterKeyOnly <> 0").map { try $0.text(0) })
    }

    /// The stored value to which an operation applies; nil when the change is not an operation, or the parameter does
    /// not exist.
    private static func stored(_ name: String, _ change: JSON, in transaction: StoreTransaction) throws -> JSON? {
        guard change["__op"] != nil else { return nil }
        return try transaction.rows("SELECT value FROM configParameters WHERE name = ?", [.text(name)]).first.map {
            try JSON(parsing: $0.text("value"))
        }
    }

    private static func isDelete(_ value: JSON) -> Bool { value["__op"] == "Delete" }

    private static func set(_ name: String, _ value: JSON, in transaction: StoreTransaction) throws {
        guard !value.isNested(deeperThan: depthMax) else {
            throw ParseError(.invalidJSON, "The parameter \(name) is nested deeper than \(depthMax) levels.")
        }
        _ = try transaction.execute(
            """
            INSERT INTO configParameters(name, value, masterKeyOnly, changedAt) VALUES (?, ?, 0, ?)
            ON CONFLICT(name) DO UPDATE SET value = excluded.value, changedAt = excluded.changedAt
            """, [.text(name), .text(value.serializedText), .int(transaction.now.milliseconds)])
    }

    private static func checkSize(in transaction: StoreTransaction) throws {
        let bytes = transaction.dialect.bytes(of: "value")
        let size = try transaction.rows(
            "SELECT count(*), coalesce(sum(length(name) + \(bytes)), 0) FROM configParameters"
        ).first
        guard let size, try size.int(0) <= countMax else {
            throw ParseError(.objectTooLarge, "Config holds at most \(countMax) parameters.")
        }
        guard try size.int(1) <= bytesMax else {
            throw ParseError(.objectTooLarge, "Config holds at most \(bytesMax / 1024) KB.")
        }
    }
}
