import ObjectStore
import ParseProtocol

/// The tags and notes that operators give a customer. Customers never see them; they are deleted with the account.
package enum CustomerMarks {
    static let tables = [
        """
        CREATE TABLE customerTags(tag TEXT NOT NULL, customerId TEXT NOT NULL, PRIMARY KEY(tag, customerId))
        WITHOUT ROWID
        """,
        "CREATE INDEX customerTagsByCustomer ON customerTags(customerId)",
        """
        CREATE TABLE customerNotes(noteId TEXT PRIMARY KEY, customerId TEXT NOT NULL, text TEXT NOT NULL,
        authorId TEXT NOT NULL, authorName TEXT NOT NULL, createdAt INTEGER NOT NULL) WITHOUT ROWID
        """,
        "CREATE INDEX customerNotesByCustomer ON customerNotes(customerId, createdAt)",
        "CREATE INDEX customerNotesByAuthor ON customerNotes(authorId)",
    ]

    /// Maximum tags of a customer.
    package static let tagsMax = 20
    private static let tagBytesMax = 50
    /// Maximum notes of a customer. The desk reads all of them at once.
    package static let notesMax = 200
    /// Maximum different tags that a list returns.
    private static let tagsListed = 100
    private static let nameMax = 200

    // MARK: Tags

    /// The parameter `tags`, sorted and without duplicates.
    /// - Throws: `.incorrectType` (111) for a value that is no list of texts, `.validationError` (142) for a tag that
    ///   is empty, too long or contains a comma, and for too many tags.
    package static func tags(_ parameters: JSON) throws -> [String] {
        guard let values = parameters["tags"]?.arrayValue else {
            throw ParseError(.incorrectType, "tags must be a list of texts.")
        }
        let tags = try values.map { value in
            let text = try PlainText.parse(value, "tags", bytesMax: tagBytesMax, isLine: true)
            let tag = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            guard !tag.isEmpty, !tag.contains(",") else {
                throw ParseError(.validationError, "A tag must be a text without commas.")
            }
            return tag
        }
        let distinct = Set(tags).sorted()
        guard distinct.count <= tagsMax else {
            throw ParseError(.validationError, "A customer has \(tagsMax) tags at most.")
        }
        return distinct
    }

    /// Replaces the tags of a customer.
    /// - Returns: the tags before.
    package static func set(
        _ tags: [String], of customerId: String, in transaction: StoreTransaction
    ) throws -> [String] {
        let before = try Self.tags(of: customerId, in: transaction)
        try transaction.execute("DELETE FROM customerTags WHERE customerId = ?", [.text(customerId)])
        for tag in tags {
            try transaction.execute(
                "INSERT INTO customerTags(tag, customerId) VALUES (?, ?)", [.text(tag), .text(customerId)])
        }
        return before
    }

    static func tags(of customerId: String, in store: ObjectReader) throws -> [String] {
        try store.rows("SELECT tag FROM customerTags WHERE customerId = ? ORDER BY tag", [.text(customerId)])
            .map { try $0.text("tag") }
    }

    /// The tags of several customers, by customer.
    static func tags(of customerIds: [String], in store: ObjectReader) throws -> [String: [String]] {
        let ids = JSON.array(customerIds.map(JSON.string)).serializedText
        let rows = try store.rows(
            """
            SELECT customerId, tag FROM customerTags WHERE customerId\(store.dialect.isIn("?", as: .text)) ORDER BY tag
            """, [.text(ids)])
        return try rows.reduce(into: [:]) { try $0[$1.text("customerId"), default: []].append($1.text("tag")) }
    }

    /// The most frequent tags with the number of their customers.
    static func allTags(in store: ObjectReader) throws -> JSON {
        let rows = try store.rows(
            "SELECT tag, count(*) AS tagged FROM customerTags GROUP BY tag ORDER BY count(*) DESC, tag LIMIT ?",
            [.int(Int64(tagsListed))])
        return .array(try rows.map { try ["tag": .string($0.text("tag")), "count": .int($0.int("tagged"))] })
    }

    // MARK: Notes

    /// - Throws: `.validationError` (142) when the customer has `notesMax` notes.
    package static func add(
        _ text: String, to customerId: String, by author: OrderNotes.Author, in transaction: StoreTransaction
    ) throws -> JSON {
        guard try notes(of: customerId, in: transaction).count < notesMax else {
            throw ParseError(.validationError, "A customer has \(notesMax) notes at most.")
        }
        let noteId = Names.objectId()
        try transaction.execute(
            """
            INSERT INTO customerNotes(noteId, customerId, text, authorId, authorName, createdAt)
            VALUES (?, ?, ?, ?, ?, ?)
            """,
            [
                .text(noteId), .text(customerId), .text(text), .text(author.userId),
                .text(String(author.name.prefix(nameMax))), .int(transaction.now.milliseconds),
            ])
        guard let note = try notes(of: customerId, in: transaction).first(where: { $0["noteId"] == .string(noteId) })
        else { throw ParseError.internalError }
        return note
    }

    /// The notes of a customer, newest first.
    package static func notes(of customerId: String, in store: ObjectReader) throws -> [JSON] {
        try store.rows(
            "SELECT * FROM customerNotes WHERE customerId = ? ORDER BY createdAt DESC, noteId", [.text(customerId)]
        ).map { row in
            var note: JSON = try [
                "noteId": .string(row.text("noteId")), "text": .string(row.text("text")),
                "createdAt": Timestamp(milliseconds: row.int("createdAt")).wire,
            ]
            let (author, name) = (try row.text("authorId"), try row.text("authorName"))
            if !author.isEmpty { note["authorId"] = .string(author) }
            if !name.isEmpty { note["authorName"] = .string(name) }
            return note
        }
    }

    /// - Parameter author: the required author; nil when the caller may remove any note.
    /// - Returns: the id of its customer.
    /// - Throws: `.objectNotFound` (101) when there is no such note, `.operationForbidden` (119) when another operator
    ///   wrote it.
    package static func remove(
        _ noteId: String, writtenBy author: String?, in transaction: StoreTransaction
    ) throws -> String {
        let found = try transaction.rows(
            "SELECT customerId, authorId FROM customerNotes WHERE noteId = ?", [.text(noteId)])
        guard let note = found.first else { throw ParseError.objectNotFound }
        guard try author == nil || note.text("authorId") == author else {
            throw ParseError(.operationForbidden, "Only a note's author and the admins can remove it.")
        }
        try transaction.execute("DELETE FROM customerNotes WHERE noteId = ?", [.text(noteId)])
        return try note.text("customerId")
    }

    /// Removes the name of an operator whose account was deleted from that operator's notes.
    static func forgetAuthor(_ userId: String, in transaction: StoreTransaction) throws {
        try transaction.execute(
            "UPDATE customerNotes SET authorId = '', authorName = '' WHERE authorId = ?", [.text(userId)])
    }

    // MARK: Both

    static func exist(of customerId: String, in store: ObjectReader) throws -> Bool {
        for table in ["customerTags", "customerNotes"] {
            let rows = try store.rows("SELECT 1 FROM \(table) WHERE customerId = ? LIMIT 1", [.text(customerId)])
            if !rows.isEmpty { return true }
        }
        return false
    }

    /// Moves tags and notes to the account that an anonymous user signed in to.
    static func move(from: String, to: String, in transaction: StoreTransaction) throws {
        let tags = try Set(Self.tags(of: from, in: transaction) + Self.tags(of: to, in: transaction))
        _ = try set([], of: from, in: transaction)
        _ = try set(tags.sorted(), of: to, in: transaction)
        try transaction.execute(
            "UPDATE customerNotes SET customerId = ? WHERE customerId = ?", [.text(to), .text(from)])
    }
}
