import ObjectStore
import ParseProtocol

/// The stored discount codes and their uses.
///
/// A use is a checkout with the code that has not failed (`checkouts.discountCode`). The row that begins a checkout
/// therefore reserves the use, and the row's end as `failed` releases it: there is no second counter that a crash could
/// leave behind. A cancelled order releases its use; a refunded one keeps it.
package enum DiscountCodes {
    static let tables = [
        """
        CREATE TABLE discountCodes(code TEXT PRIMARY KEY, definition TEXT NOT NULL, createdAt INTEGER NOT NULL)
        WITHOUT ROWID
        """,
        // The terms of a checkout's discount (`DiscountTerms`).
        "ALTER TABLE checkouts ADD COLUMN discount TEXT",
        // NULL when the checkout uses no code, or when its use was released.
        "ALTER TABLE checkouts ADD COLUMN discountCode TEXT",
        """
        CREATE INDEX checkoutsOfDiscount ON checkouts(discountCode, customerId)
        WHERE discountCode IS NOT NULL AND state <> 'failed'
        """,
    ]

    /// - Throws: `.duplicateValue` (137) when the code exists.
    package static func add(_ code: DiscountCode, in transaction: StoreTransaction) throws {
        guard try find(code.code, in: transaction) == nil else {
            throw ParseError(.duplicateValue, "The discount code \(code.code) exists already.")
        }
        try transaction.execute(
            "INSERT INTO discountCodes(code, definition, createdAt) VALUES (?, ?, ?)",
            [.text(code.code), .text(code.json.serializedText), .int(transaction.now.milliseconds)])
    }

    static func replace(_ code: DiscountCode, in transaction: StoreTransaction) throws {
        try transaction.execute(
            "UPDATE discountCodes SET definition = ? WHERE code = ?",
            [.text(code.json.serializedText), .text(code.code)])
    }

    /// - Parameter text: in any letter case.
    static func find(_ text: String, in store: ObjectReader) throws -> DiscountCode? {
        guard let code = DiscountCode.normalized(text) else { return nil }
        return try store.rows("SELECT definition FROM discountCodes WHERE code = ?", [.text(code)]).first
            .map { try DiscountCode(JSON(parsing: $0.text("definition"))) }
    }

    /// The code, if the customer may use it once more.
    /// - Parameter isInUse: whether the customer's running checkout already counts as the use.
    /// - Throws: `.validationError` (142) with the problem in `details.code`.
    package static func usable(
        _ text: String, by customerId: String, isInUse: Bool = false, at now: Timestamp, in store: ObjectReader
    ) throws -> DiscountCode {
        guard let code = try find(text, in: store) else { throw DiscountProblem.unknown.error(text) }
        try code.requireValid(at: now)
        guard !isInUse else { return code }
        if let most = code.usesPerCustomerMax, try uses(of: code, by: customerId, upTo: most, in: store) >= most {
            throw DiscountProblem.alreadyUsed.error(code.code)
        }
        if let most = code.usesMax, try uses(of: code, by: nil, upTo: most, in: store) >= most {
            throw DiscountProblem.exhausted.error(code.code)
        }
        return code
    }

    private static func uses(
        of code: DiscountCode, by customerId: String?, upTo limit: Int64, in store: ObjectReader
    ) throws -> Int64 {
        try store.rows(
            """
            SELECT count(*) AS uses FROM (SELECT 1 FROM checkouts WHERE discountCode = ? AND state <> 'failed'
            \(customerId == nil ? "" : "AND customerId = ?") LIMIT ?) AS used
            """, [.text(code.code)] + (customerId.map { [.text($0)] } ?? []) + [.int(limit)]
        ).first?.int("uses") ?? 0
    }

    /// Releases the use of an order that is cancelled.
    static func releaseUse(of orderId: String, in transaction: StoreTransaction) throws {
        try transaction.execute(
            "UPDATE checkouts SET discountCode = NULL WHERE orderId = ? AND discountCode IS NOT NULL",
            [.text(orderId)])
    }

    /// Which codes a list has.
    package enum Selection: Sendable {
        case all
        /// In stored form.
        case one(String)
        /// Codes that contain this text, in any letter case.
        case containing(String)

        fileprivate var condition: (sql: String, arguments: [SQLValue]) {
            switch self {
            case .all: return ("", [])
            case .one(let code): return ("WHERE code = ?", [.text(code)])
            case .containing(let text):
                let pattern = ["!", "%", "_"].reduce(text.uppercased()) { $0.replacing($1, with: "!\($1)") }
                return ("WHERE code LIKE ? ESCAPE '!'", [.text("%\(pattern)%")])
            }
        }
    }

    /// The codes as functions return them, newest first.
    package static func list(
        _ selection: Selection = .all, limit: Int64 = 1, skip: Int64 = 0, in store: ObjectReader
    ) throws -> [JSON] {
        let condition = selection.condition
        return try store.rows(
            """
            SELECT definition, createdAt, (SELECT count(*) FROM checkouts WHERE checkouts.discountCode =
            discountCodes.code AND state <> 'failed') AS uses FROM discountCodes
            \(condition.sql) ORDER BY createdAt DESC, code LIMIT ? OFFSET ?
            """, condition.arguments + [.int(limit), .int(skip)]
        ).map { row in
            var answer = try JSON(parsing: row.text("definition"))
            answer["uses"] = .int(try row.int("uses"))
            answer["createdAt"] = Timestamp(milliseconds: try row.int("createdAt")).wire
            return answer
        }
    }

    static func count(_ selection: Selection, in store: ObjectReader) throws -> Int64 {
        let condition = selection.condition
        return try store.rows("SELECT count(*) AS codes FROM discountCodes \(condition.sql)", condition.arguments)
            .first?.int("codes") ?? 0
    }
}
