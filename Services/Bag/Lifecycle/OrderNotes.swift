import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The notes that operators write on an order for each other, objects of the class `OrderDeskNote`: who, when and what.
///
/// No customer sees them. Only the roles that look after orders read the class, each note's ACL names the desk alone,
/// and no order points to its notes.
package enum OrderNotes {
    package static let className = "OrderDeskNote"

    /// Bytes of a note: half a page.
    static let textBytesMax = 4000
    /// Notes of an order. The desk reads all of them at once.
    package static let countMax = 200
    /// Characters that are kept of a name.
    private static let nameMax = 200

    /// Only functions write notes: past them nobody but the master key does.
    static let definition = ClassDefinition(
        className,
        fields: [
            "order": .pointer("Order"), "author": .pointer("_User"), "authorName": .string, "text": .string,
        ],
        indexes: [["order"], ["author"]],
        permissions: .seen(by: [OperatorArea.admins, .orders, .support].map(\.role)))

    /// The operator who writes.
    package struct Author: Sendable {
        /// Empty for the master key.
        let userId: String
        /// Empty when it cannot be learnt.
        let name: String

        package init(userId: String, name: String) {
            self.userId = userId
            self.name = name
        }
    }

    /// The parameter `text`.
    /// - Throws: `.incorrectType` (111) for anything but a string, `.validationError` (142) for one that is empty, too
    ///   long or no plain text.
    package static func text(_ parameters: JSON) throws -> String {
        let text = try PlainText.parse(parameters["text"] ?? "", "text", bytesMax: textBytesMax)
        guard !text.allSatisfy(\.isWhitespace) else { throw ParseError(.validationError, "text is empty.") }
        return text
    }

    /// Adds a note to an order that was made.
    /// - Returns: the note.
    /// - Throws: `.objectNotFound` (101) when there is no such order, `.validationError` (142) when it has `countMax`
    ///   notes.
    package static func add(
        _ text: String, to orderId: String, by author: Author, in transaction: StoreTransaction
    ) throws -> JSON {
        let order = try transaction.document("Order", orderId, caller: .master)
        guard !OrderStatus.isOpen(order) else { throw ParseError.objectNotFound }
        guard try transaction.count(query(ofOrder: orderId), caller: .master) < countMax else {
            throw ParseError(.validationError, "An order has \(countMax) notes at most.")
        }
        var note: JSON = [
            "order": .pointer("Order", orderId), "text": .string(text), "ACL": Privacy.adminsOnly,
        ]
        if !author.userId.isEmpty { note["author"] = .pointer("_User", author.userId) }
        if !author.name.isEmpty { note["authorName"] = .string(String(author.name.prefix(nameMax))) }
        var added = try transaction.create(className, note, caller: .master).document
        added["ACL"] = nil
        return added
    }

    /// Removes a note.
    /// - Parameter author: whoever must have written it; nil for whoever removes any.
    /// - Returns: the id of its order.
    /// - Throws: `.objectNotFound` (101) when there is no such note, `.operationForbidden` (119) when it is another's.
    package static func remove(
        _ noteId: String, writtenBy author: String?, in transaction: StoreTransaction
    ) throws -> String {
        let note = try transaction.document(className, noteId, caller: .master)
        guard author == nil || note["author"]?.pointerTarget?.objectId == author else {
            throw ParseError(.operationForbidden, "Only whoever wrote a note and the admins remove it.")
        }
        _ = try transaction.delete(className, noteId, caller: .master)
        return note["order"]?.pointerTarget?.objectId ?? ""
    }

    /// Removes what was written on an order: it is gone, or its customer's account is.
    static func removeAll(of orderId: String, in transaction: StoreTransaction) throws {
        try transaction.forEach(className, where: ["order": .pointer("Order", orderId)]) { id, _ in
            _ = try transaction.delete(className, id, caller: .master)
        }
    }

    /// Takes the name of an operator whose account is gone off what they wrote.
    static func forgetAuthor(_ userId: String, in transaction: StoreTransaction) throws {
        let removed: JSON = ["__op": "Delete"]
        try transaction.forEach(className, of: userId, "author") { id, _ in
            _ = try transaction.update(className, id, ["author": removed, "authorName": removed], caller: .master)
        }
    }

    private static func query(ofOrder orderId: String) -> Query {
        Query(className: className, where: ["order": .pointer("Order", orderId)], limit: countMax)
    }
}
