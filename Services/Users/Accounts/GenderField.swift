import ObjectStore
import ParseProtocol

/// `_User.gender` is a number, as the apps that were written for hosted Parse save it. Earlier builds declared a text,
/// so that these apps could not save it at all.
package enum GenderField {
    private static let className = "_User"
    private static let field = "gender"

    /// Makes the field of an older database a number, unless somebody saved a text: then an app of the shop's needs it
    /// as it is.
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
