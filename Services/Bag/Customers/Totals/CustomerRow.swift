import ObjectStore
import ParseProtocol

/// A row of the table `customers`.
struct CustomerRow {
    let customerId: String
    let shopCurrency: String
    /// Placed orders that are not cancelled.
    var orders: Int64 = 0
    /// What was paid and not refunded, in minor units, by currency.
    private(set) var spent: [String: Int64] = [:]
    /// When the newest order was placed, in milliseconds; 0 without orders.
    var lastOrderAt: Int64 = 0
    var profile = CustomerProfile()
    /// The profile in the table; nil when there is no row.
    private let stored: CustomerProfile?

    var isStored: Bool { stored != nil }

    static let columns = "customerId, orders, spent, otherSpent, lastOrderAt, profile"

    /// The stored row, or a new one.
    static func load(
        _ customerId: String, shopCurrency: String, in store: ObjectReader
    ) throws -> CustomerRow {
        let rows = try store.rows("SELECT \(columns) FROM customers WHERE customerId = ?", [.text(customerId)])
        guard let row = rows.first else { return CustomerRow(customerId, shopCurrency: shopCurrency) }
        return try CustomerRow(row, shopCurrency: shopCurrency)
    }

    private init(_ customerId: String, shopCurrency: String) {
        self.customerId = customerId
        self.shopCurrency = shopCurrency
        stored = nil
    }

    init(_ row: SQLRow, shopCurrency: String) throws {
        customerId = try row.text("customerId")
        self.shopCurrency = shopCurrency
        orders = try row.int("orders")
        lastOrderAt = try row.int("lastOrderAt")
        let profile = try CustomerProfile(stored: row.text("profile"))
        self.profile = profile
        stored = profile
        spent = (try JSON(parsing: row.text("otherSpent")).objectValue ?? [:]).compactMapValues(\.intValue)
        spent[shopCurrency] = try row.int("spent")
    }

    /// Adds an amount, which may be negative. Imported amounts may have any size; a sum stays in range.
    mutating func add(_ minorUnits: Int64, _ currency: String) {
        let (sum, isOverflow) = (spent[currency] ?? 0).addingReportingOverflow(minorUnits)
        spent[currency] = isOverflow ? Int64.max : max(0, sum)
    }

    /// Amounts in other currencies than the shop's.
    private var otherSpent: JSON {
        .object(spent.filter { $0.key != shopCurrency && $0.value != 0 }.mapValues(JSON.int))
    }

    func store(in transaction: StoreTransaction) throws {
        guard profile != stored else { return try storeSums(in: transaction) }
        try transaction.execute(
            """
            INSERT INTO customers(customerId, orders, spent, otherSpent, lastOrderAt, profile, byName, byEmail)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT(customerId) DO UPDATE SET orders = excluded.orders, spent = excluded.spent,
            otherSpent = excluded.otherSpent, lastOrderAt = excluded.lastOrderAt, profile = excluded.profile,
            byName = excluded.byName, byEmail = excluded.byEmail
            """,
            [
                .text(customerId), .int(orders), .int(spent[shopCurrency] ?? 0), .text(otherSpent.serializedText),
                .int(lastOrderAt), .text(profile.json.serializedText), .text(CustomerProfile.folded(profile.name)),
                .text(CustomerProfile.folded(profile.email)),
            ])
        try transaction.execute("DELETE FROM customerWords WHERE customerId = ?", [.text(customerId)])
        for word in profile.words.sorted() {
            try transaction.execute(
                "INSERT INTO customerWords(word, customerId) VALUES (?, ?)", [.text(word), .text(customerId)])
        }
    }

    /// Changes no column of the profile, so that the engine leaves its indexes alone.
    private func storeSums(in transaction: StoreTransaction) throws {
        try transaction.execute(
            "UPDATE customers SET orders = ?, spent = ?, otherSpent = ?, lastOrderAt = ? WHERE customerId = ?",
            [
                .int(orders), .int(spent[shopCurrency] ?? 0), .text(otherSpent.serializedText), .int(lastOrderAt),
                .text(customerId),
            ])
    }

    /// The row as functions return it.
    func json(tags: [String]) -> JSON {
        var answer = profile.json
        answer["customerId"] = .string(customerId)
        answer["orders"] = .int(orders)
        answer["spentMinorUnits"] = .int(spent[shopCurrency] ?? 0)
        answer["currency"] = .string(shopCurrency)
        answer["tags"] = .array(tags.map(JSON.string))
        if otherSpent != [:] { answer["otherSpentMinorUnits"] = otherSpent }
        if lastOrderAt > 0 { answer["lastOrderDate"] = Timestamp(milliseconds: lastOrderAt).wire }
        return answer
    }
}
