import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// Handles visits of mailed links.
struct LinkVisits: Sendable {
    let host: ServiceHost
    let rules: UserRules

    /// Verifies the address that the link was mailed to, once. A second visit reports that it is already verified.
    static func verifyEmail(_ message: LinkRequest, in transaction: StoreTransaction) throws -> BusReply {
        func holder(_ owner: MailedTokens.Owner?) throws -> (id: String, user: JSON)? {
            guard let owner, let user = try transaction.documentIfFound("_User", owner.userId, caller: .master),
                user["email"]?.stringValue == owner.email
            else { return nil }
            return (owner.userId, user)
        }
        if let used = try MailedTokens.use(.emailVerification, message.token, in: transaction) {
            guard let holder = try holder(used) else { return try reply(.void) }
            try transaction.update("_User", holder.id, ["emailVerified": true], caller: .master)
            return try reply(.done)
        }
        let former = try MailedTokens.formerOwner(.emailVerification, message.token, transaction)
        return try reply(try holder(former)?.user["emailVerified"] == true ? .alreadyVerified : .void)
    }

    /// Whether a link is valid for a password reset. Does not use up the link, because mail scanners follow links.
    static func checkReset(_ message: LinkRequest, _ reader: StoreReader) throws -> BusReply {
        try reply(MailedTokens.owner(.passwordReset, message.token, at: .now, reader) == nil ? .void : .done)
    }

    /// Sets a new password by a link, and ends every session of the user unless the settings keep them.
    /// - Throws: `.validationError` (142) for a password that violates the policy; the link remains valid.
    func resetPassword(_ message: LinkRequest, _ request: ServiceRequest) async throws -> BusReply {
        try rules.settings.passwordPolicy.check(message.password)
        // Checked before the slow hashing, so that a guessed token does not cause it.
        let owner = try await host.store.read(for: request.share) {
            try MailedTokens.owner(.passwordReset, message.token, at: .now, $0)
        }
        guard let owner else {
            // Already used, perhaps by this very request: then its stored reply is returned.
            return try await host.commit(request) { _ in try Self.reply(.void) }
        }
        var change = ProposedChange(
            verb: .update, className: "_User", objectId: owner.userId,
            object: ["password": .string(message.password)], principal: .satchel, for: request)
        try await rules.prepare(&change)
        return try await host.commit(request) { [host, change, rules] transaction in
            guard let used = try MailedTokens.use(.passwordReset, message.token, in: transaction),
                let user = try transaction.documentIfFound("_User", used.userId, caller: .master),
                LinkMails.address(of: user) == used.email
            else { return try Self.reply(.void) }
            var change = change
            if user["emailVerified"] != true {
                // The creator of these links never proved ownership of the address; the owner of the mailbox just did.
                if user["email"] != nil { change.object["emailVerified"] = true }
                if let linked = user["authData"]?.objectValue, !linked.isEmpty {
                    change.object["authData"] = .object(linked.mapValues { _ in .null })
                }
            }
            let outcome = try ServiceRoutes.apply(change, rules, in: transaction)
            // Remembers the device, so that the owner's next sign-in is not slowed down by others' attempts on the
            // account.
            try KnownDevices.remember(used.userId, request.envelope.principal, rules.key, in: transaction)
            if try OperatorRoles.isHeld(by: used.userId, transaction) {
                let note = AuditNote("resetPassword", "_User", used.userId)
                try host.audit.note(note, byOperator: used.userId, request, in: transaction)
            }
            return try BusReply(LinkReply.with { $0.outcome = .done }, forget: outcome.forget)
        }
    }

    private static func reply(_ outcome: LinkReply.Outcome) throws -> BusReply {
        try BusReply(LinkReply.with { $0.outcome = outcome })
    }
}
