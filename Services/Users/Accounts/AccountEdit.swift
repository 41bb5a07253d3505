import ParseProtocol
import ServiceKit

/// The validated parameters of `updateAccount`, an operator's change of an account.
///
/// A changed address allows a password reset, so only admins may change it. Support may change names and the phone
/// number.
package struct AccountEdit: Sendable {
    package let userId: String
    /// The new values; null removes a value.
    private let wishes: [String: JSON]

    /// The editable fields. The audit log omits their values, because they are personal data and are deleted with the
    /// account.
    static let fields: Set<String> = ["firstName", "lastName", "name", "phone", "email", "username"]
    private static let texts = ["firstName", "lastName", "name", "phone"]
    private static let bytesMax = 200

    /// - Throws: `.validationError` (142) for invalid parameters or an empty change; `.operationForbidden` (119) for an
    ///   address unless the caller is an admin.
    package init(_ parameters: JSON, byAdmin: Bool) throws {
        userId = try parameters.objectIdParameter("userId")
        var wishes: [String: JSON] = [:]
        for name in Self.texts { wishes[name] = try Self.wish(name, parameters) }
        if let email = try Self.wish("email", parameters) {
            guard byAdmin else {
                throw ParseError(.operationForbidden, "Only an admin changes the address of an account.")
            }
            guard !email.isNull else {
                throw ParseError(.validationError, "email must be an address: an account keeps one.")
            }
            wishes["email"] = email
        }
        guard !wishes.isEmpty else { throw ParseError(.validationError, "The request changes nothing.") }
        self.wishes = wishes
    }

    /// Nil for a missing parameter.
    private static func wish(_ name: String, _ parameters: JSON) throws -> JSON? {
        guard let value = parameters[name] else { return nil }
        if value.isNull || value == "" { return .null }
        return try parameters.textParameter(name, bytesMax: bytesMax).map(JSON.string)
    }

    /// The change to the stored user. A user name equal to the address changes with it. Otherwise the old address could
    /// not be used for a new sign-up, and the customer would still sign in with it.
    package func object(for stored: JSON) -> JSON {
        var object = wishes.mapValues { value -> JSON in value.isNull ? ["__op": "Delete"] : value }
        if let email = wishes["email"], let old = stored["email"]?.stringValue,
            let username = stored["username"]?.stringValue,
            AccountNames.folded(username) == AccountNames.folded(old)
        {
            object["username"] = email
        }
        return .object(object)
    }
}
