import ObjectStore
import ParseProtocol
import ServiceKit

/// Keeps an admin in the shop: without one only the master key could make another.
enum LastAdmin {
    /// - Parameter userId: an admin who would be removed; nil if the change is already made.
    /// - Throws: `.operationForbidden` (119) when no other admin remains who can sign in.
    static func require(without userId: String? = nil, _ reader: ObjectReader) throws {
        let remains = try RoleHierarchy.admins(reader).contains { id in
            guard id != userId, let user = try reader.documentIfFound("_User", id, caller: .master) else {
                return false
            }
            return try !Ban.applies(to: user, reader)
        }
        guard remains else { throw ParseError(.operationForbidden, "The last admin cannot be removed.") }
    }
}
