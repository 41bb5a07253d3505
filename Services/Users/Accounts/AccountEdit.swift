import ParseProtocol
import ServiceKit

/// A change of somebody's account by an operator: the parameters of `updateAccount`, checked.
///
/// Whoever can change an address can have the password reset. So the address is the admins'; names and the phone
/// number are support's as well.
package struct AccountEdit: Sendable {
    package let userId: String
    /// The new values; null for what is to go.
    private let wishes: [String: JSON]

    /// The fields that it is about, whose values the audit log leaves out: they are the customer's, and go with the
    /// account.
    static let fields: Set<String> = ["firstName", "lastName", "name", "phone", "email", "username"]
    private static let texts = ["firstName", "lastName", "name", "phone"]
    private static let bytesMax = 200

    /// - Throws: `.validationError` (142) for parameters that mean nothing, and when nothing is to change;
    ///   `.operationForbidden` (119) for an address unless an admin asks.
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
        guard !wishes.isEmpty else { throw ParseError(.validationError, "Nothing is to be changed.") }
        self.wishes = wishes
    }

    /// Nil for a parameter that is not there.
    private static func wish(_ name: String, _ parameters: JSON) throws -> JSON? {
        guard let value = parameters[name] else { return nil }
        if value.isNull || value == "" { return .null }
        return try parameters.textParameter(name, bytesMax: bytesMax).map(JSON.string)
    }

    /// The change of the stored user. A user name that is the address follows it: else nobody could sign up with the
    /// old one, and the customer would sign in with it.
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
