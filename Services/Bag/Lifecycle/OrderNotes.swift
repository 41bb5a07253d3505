import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The internal notes of operators on an order, objects of the class `OrderDeskNote`: author, time and text. A mail to
/// the customer (`CustomerMail`) is kept as a note with a subject; it may be about no order.
///
/// Customers never see them. Only the roles that manage orders read the class, each note's ACL names the desk alone,
/// and no order points to its notes.
package enum OrderNotes {
    package static let className = "OrderDeskNote"

    /// Maximum bytes of a note: half a page.
    static let textBytesMax = 4000
    /// Maximum notes of an order. The desk reads all of them at once.
    package static let countMax = 200
    /// Maximum characters stored of a name.
    private static let nameMax = 200

    /// Only functions and the master key write notes.
    static let definition = ClassDefinition(
        className,
        fields: [
            "order": .pointer("Order"), "author": .pointer("_User"), "authorName": .string, "text": .string,
            "customer": .pointer("_User"), "subject": .string,
        ],
        indexes: [["order"], ["author"], ["customer"]],
        permissions: .seen(by: [OperatorArea.admins, .orders, .support].map(\.role)))

    /// The author of a note.
    package struct Author: Sendable {
        /// Empty for the master key.
        let userId: String
        /// Empty when `users` does not answer.
        let name: String

        package init(userId: String, name: String) {
            self.userId = userId
            self.name = name
        }
    }

    /// The parameter `text`.
    /// - Throws: `.incorrectType` (111) for a value that is not a string, `.validationError` (142) for a text that is
    ///   empty, too long or not plain text.
    package static func text(_ parameters: JSON) throws -> String {
        let text = try PlainText.parse(parameters["text"] ?? "", "text", bytesMax: textBytesMax)
        guard !text.allSatisfy(\.isWhitespace) else { throw ParseError(.validationError, "text is empty.") }
        return text
    }

    /// Adds a note to a placed order.
    /// - Returns: the note.
    /// - Throws: `.objectNotFound` (101) when there is no such order, `.validationError` (142) when it has `countMax`
    ///   notes.
    package static func add(
        _ text: String, to orderId: String, by author: Author, in transaction: StoreTransaction
    ) throws -> JSON {
        let order = try transaction.document("Order", orderId, caller: .master)
        guard !OrderStatus.isOpen(order) else { throw ParseError.objectNotFound }
        let owner: JSON = ["order": .pointer("Order", orderId)]
        return try create(["text": .string(text)], of: owner, by: author, in: transaction)
    }

    /// Keeps a mail to a customer.
    /// - Parameters:
    ///   - customerId: empty when the account was deleted.
    ///   - orderId: nil for a mail about no order.
    /// - Throws: `.objectNotFound` (101) when the account was deleted and there is no order, `.validationError` (142)
    ///   when the order, or the customer without an order, has `countMax` notes.
    package static func keep(
        _ mail: CustomerMail, to customerId: String, about orderId: String?, by author: Author,
        in transaction: StoreTransaction
    ) throws -> JSON {
        let isGone = try customerId.isEmpty || DeletedUsers.contains(customerId, in: transaction)
        let customer: JSON = isGone ? [:] : ["customer": .pointer("_User", customerId)]
        var note = customer
        note["subject"] = .string(mail.subject)
        note["text"] = .string(mail.text)
        guard let orderId else {
            guard !isGone else { throw ParseError.objectNotFound }
            return try create(note, of: customer, by: author, in: transaction)
        }
        return try create(note, of: ["order": .pointer("Order", orderId)], by: author, in: transaction)
    }

    /// - Parameter owner: the pointer to the order or customer that the note belongs to; its number of notes is
    ///   limited.
    private static func create(
        _ fields: JSON, of owner: JSON, by author: Author, in transaction: StoreTransaction
    ) throws -> JSON {
        let present = Query(className: className, where: owner, limit: countMax)
        guard try transaction.count(present, caller: .master) < countMax else {
            throw ParseError(.validationError, "At most \(countMax) notes and mails can be stored.")
        }
        var note = fields
        for (name, pointer) in owner.objectValue ?? [:] { note[name] = pointer }
        note["ACL"] = Privacy.adminsOnly
        if !author.userId.isEmpty { note["author"] = .pointer("_User", author.userId) }
        if !author.name.isEmpty { note["authorName"] = .string(String(author.name.prefix(nameMax))) }
        var added = try transaction.create(className, note, caller: .master).document
        added["ACL"] = nil
        return added
    }

    /// - Parameter author: the required author; nil when the caller may remove any note.
    /// - Returns: the id of its order.
    /// - Throws: `.objectNotFound` (101) when there is no such note, `.operationForbidden` (119) when another operator
    ///   wrote it, and for a mail.
    package static func remove(
        _ noteId: String, writtenBy author: String?, in transaction: StoreTransaction
    ) throws -> String {
        let note = try transaction.document(className, noteId, caller: .master)
        guard note["subject"] == nil else {
            throw ParseError(.operationForbidden, "A mail to a customer cannot be removed.")
        }
        guard author == nil || note["author"]?.pointerTarget?.objectId == author else {
            throw ParseError(.operationForbidden, "Only a note's author and the admins can remove it.")
        }
        _ = try transaction.delete(className, noteId, caller: .master)
        return note["order"]?.pointerTarget?.objectId ?? ""
    }

    /// Removes all notes of an order when the order or the customer's account is deleted.
    static func removeAll(of orderId: String, in transaction: StoreTransaction) throws {
        try transaction.forEach(className, where: ["order": .pointer("Order", orderId)]) { id, _ in
            _ = try transaction.delete(className, id, caller: .master)
        }
    }

    /// Removes all mails to a customer whose account was deleted.
    static func removeAll(toCustomer userId: String, in transaction: StoreTransaction) throws {
        try transaction.forEach(className, of: userId, "customer") { id, _ in
            _ = try transaction.delete(className, id, caller: .master)
        }
    }

    /// Removes the name of an operator whose account was deleted from that operator's notes.
    static func forgetAuthor(_ userId: String, in transaction: StoreTransaction) throws {
        let removed: JSON = ["__op": "Delete"]
        try transaction.forEach(className, of: userId, "author") { id, _ in
            _ = try transaction.update(className, id, ["author": removed, "authorName": removed], caller: .master)
        }
    }
}
