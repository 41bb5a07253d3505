import MessageBus
import Messages
import ParseProtocol
import ServiceKit

/// A customer's current e-mail address.
package struct CustomerContact: Sendable, Equatable {
    /// Empty when the customer has none.
    package let email: String
    /// Whether the address is known to belong to the customer.
    package let isVerified: Bool

    package init(email: String, isVerified: Bool) {
        self.email = email
        self.isVerified = isVerified
    }
}

/// The current contacts of customers. A customer may have changed the address since the order.
struct CustomerContacts: Sendable {
    let host: ServiceHost

    /// Short: the address stored with the order is good enough.
    private static let waitMax = Duration.seconds(3)

    /// Nil when `users` does not answer.
    /// - Parameter origin: the request that needs it.
    func contact(of userId: String, for origin: ServiceRequest?) async -> CustomerContact? {
        guard !userId.isEmpty else { return nil }
        let reply = try? await host.call(
            UsersCalls.contact, ContactRequest.with { $0.userID = userId }, for: origin, timeout: Self.waitMax)
        return reply.map { CustomerContact(email: $0.email, isVerified: $0.emailVerified) }
    }

    /// The name that operators see for another operator: the account's name, or else its e-mail address. Empty when
    /// `users` does not answer.
    func name(of userId: String, for origin: ServiceRequest) async -> String {
        guard !userId.isEmpty else { return "" }
        let reply = try? await host.call(
            UsersCalls.contact, ContactRequest.with { $0.userID = userId }, for: origin, timeout: Self.waitMax)
        return reply.map { $0.name.isEmpty ? $0.email : $0.name } ?? ""
    }

    /// E-mail address, name and phone number of users, by objectId, for the shop's admins.
    func contacts(of userIds: Set<String>, for origin: ServiceRequest?) async throws -> [String: JSON] {
        try await host.objects("_User", ids: userIds, as: .satchel, for: origin).mapValues { user in
            var contact: JSON = [:]
            for name in ["email", "firstName", "lastName", "name", "phone"] {
                if let value = user[name], !value.isNull { contact[name] = value }
            }
            return contact
        }
    }
}
