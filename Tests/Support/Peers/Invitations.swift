import Foundation
import ParseProtocol

/// The invitations of operators, with the links from the spool's mails.
package enum Invitations {
    package static func address() -> String { "\(Names.random(10).lowercased())@team.example" }

    /// - Returns: the parameters that name the invitation.
    @discardableResult
    package static func invite(_ address: String, into role: String, by admin: ParseClient) async throws -> JSON {
        let made = try await admin.run("inviteOperator", ["email": .string(address), "role": .string(role)])
        guard made.status == 200 else { throw Unexpected("inviteOperator", made) }
        return ["invitationId": made.result["invitationId"] ?? .null]
    }

    /// The tokens mailed to an address, in any order. Waits until there are `count`.
    package static func tokens(
        to address: String, atLeast count: Int = 1, in suite: Suite
    ) async throws -> [String] {
        let start = "\(suite.origin)/dashboard/invitation#"
        var tokens: [String] = []
        try await eventually("\(count) invitations of \(address)") {
            tokens = suite.mails().filter { ($0.header("To") ?? "").contains(address) }.compactMap { mail in
                guard let range = mail.text.range(of: start) else { return nil }
                return String(mail.text[range.upperBound...].prefix { $0.isHexDigit })
            }
            return tokens.count >= count
        }
        return tokens
    }

    package static func accept(_ token: String, _ password: String, in suite: Suite) async throws -> ParseClient.Answer
    {
        try await ParseClient(suite).run(
            "acceptOperatorInvitation",
            ["token": .string(token), "name": "Ben Long", "password": .string(password)])
    }
}

/// An operator who accepted an invitation and signed in.
package struct InvitedOperator: Sendable {
    package let client: ParseClient
    package let userId: String
    package let address: String
    package let password: String

    package init(of role: String, in suite: Suite) async throws {
        let (address, password) = (Invitations.address(), Names.random(12))
        try await Invitations.invite(address, into: role, by: ParseClient.master(suite))
        let token = try await Invitations.tokens(to: address, in: suite)[0]
        let accepted = try await Invitations.accept(token, password, in: suite)
        guard accepted.status == 200 else { throw Unexpected("acceptOperatorInvitation", accepted) }
        let entered = try await ParseClient(suite).call(
            .POST, "/login", ["username": .string(address), "password": .string(password)])
        guard let session = entered["sessionToken"]?.stringValue else { throw Unexpected("login", entered) }
        client = ParseClient(suite, sessionToken: session)
        userId = entered.objectId
        (self.address, self.password) = (address, password)
    }

    /// The parameters that name the operator.
    package var id: JSON { ["userId": .string(userId)] }
}
