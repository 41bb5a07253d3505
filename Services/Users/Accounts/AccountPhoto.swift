import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The photo of an account, `photo`. The catalog deletes the one of the storefront that an account shows no longer.
enum AccountPhoto {
    private static let field = "photo"

    /// Notifies the catalog of a change, in the same transaction. Any client may name any file in the field, so that
    /// the catalog compares the file's owner.
    static func tellChange(
        of userId: String, from before: JSON?, to after: JSON?, messages: Outbox, in transaction: StoreTransaction
    ) throws {
        guard let name = before?[field]?["name"]?.stringValue, FileNames.isAccountPhoto(name),
            after?[field]?["name"] != .string(name)
        else { return }
        let dropped = DropAccountPhoto.with {
            $0.userID = userId
            $0.name = name
            $0.shown = after?[field]?["name"]?.stringValue ?? ""
        }
        try messages.add(
            FileCalls.dropAccountPhoto, dropped, key: "user:\(userId):photo:\(Names.random(16))", in: transaction)
    }
}
