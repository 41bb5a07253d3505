import Logging
import ObjectStore
import ParseProtocol

/// `_User.gender` is a number, as the apps that were written for hosted Parse save it. Earlier releases declared a text, so that these
/// apps could not save it at all.
package enum GenderField {
    private static let className = "_User"
    private static let field = "gender"

    /// Makes the field of an older database a number, unless somebody saved a text: then an app of the shop's needs it as it is.
    package static func convert(_ store: ClassStore, _ logger: Logger) async {
        do {
            try await store.write { transaction in
                guard try JSON(parsing: transaction.schema(of: className))["fields"]?[field]?["type"] == "String",
                    try transaction.count(
                        Query(className: className, where: .object([field: ["$exists": true]])), caller: .master) == 0
                else { return }
                for change in [["__op": "Delete"], ["type": "Number"]] as [JSON] {
                    _ = try transaction.changeClass(className, ["fields": .object([field: change])], keeping: [])
                }
            }
        } catch {
            // The next start tries again.
            logger.error("The type of gender could not be changed.", metadata: ["error": "\(error)"])
        }
    }
}
