import ObjectStore
import ParseProtocol

/// `_User.gender` is a number, as apps for hosted Parse save it. Earlier releases declared a text, so that these apps
/// could not save it.
package enum GenderField {
    private static let className = "_User"
    private static let field = "gender"

    /// Converts the field of an older database to a number, unless a text is stored: then an app of the shop relies on
    /// it.
    package static func convert(in transaction: StoreTransaction) throws {
        guard transaction.hasClass(className),
            try JSON(parsing: transaction.schema(of: className))["fields"]?[field]?["type"] == "String",
            try transaction.count(
                Query(className: className, where: .object([field: ["$exists": true]])), caller: .master) == 0
        else { return }
        for change in [["__op": "Delete"], ["type": "Number"]] as [JSON] {
            _ = try transaction.changeClass(className, ["fields": .object([field: change])], keeping: [])
        }
    }
}
