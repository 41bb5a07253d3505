import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// Creates links and mails them: on request, and for new addresses.
package struct LinkMails: Sendable {
    let settings: UsersSettings
    let messages: Outbox
    let key: AccountKey

    private static let tooMany = ParseError(
        .connectionFailed, "Too many mails were requested from this address. Please try again later.")

    /// Accepts a request for a mail. It does not read accounts, so that neither the answer nor its timing reveals
    /// whether one exists: the outbox sends the request back as `UsersCalls.mailLink`.
    /// - Throws: `.invalidEmailAddress` (125) for an invalid address, `.connectionFailed` (100) when the client's quota
    ///   is exhausted.
    func request(_ message: MailRequest, from network: String, in transaction: StoreTransaction) throws {
        try admit(message, from: network, in: transaction)
        let link = MailLink.with {
            $0.link = message.link
            $0.email = message.email
        }
        try messages.add(UsersCalls.mailLink, link, key: "mailLink:\(Names.random(20))", in: transaction)
    }

    /// The account whose password would be reset, for a trigger that runs before the mail; without `objectID` if no
    /// mail would be sent.
    /// - Throws: as `request` does.
    func resetOwner(
        _ message: MailRequest, from network: String, in transaction: StoreTransaction
    ) throws -> AccountReply {
        try admit(message, from: network, in: transaction)
        let found = try recipient(of: .passwordReset, at: message.email, transaction)
        return .with { $0.objectID = found?.owner.userId ?? "" }
    }

    private func admit(_ message: MailRequest, from network: String, in transaction: StoreTransaction) throws {
        guard AccountNames.isEmail(message.email) else {
            throw ParseError(.invalidEmailAddress, "Email address format is invalid.")
        }
        guard
            try network.isEmpty
                || MailQuota.admits(
                    .asking(network: network, perHour: settings.mailsPerAddress), in: transaction)
        else { throw Self.tooMany }
    }

    /// Mails a link to the owner of an address, if there is one and the link is applicable.
    func mail(_ message: MailLink, in transaction: StoreTransaction) throws {
        guard let (owner, user) = try recipient(of: message.link, at: message.email, transaction) else { return }
        switch message.link {
        case .emailVerification where settings.verifiesEmail && user["emailVerified"] != true,
            .passwordReset:
            let quotas = quotas(of: owner.userId, owner.email, message.link, user)
            guard try MailQuota.admits(quotas, in: transaction) else { return }
            try send(message.link, to: owner, user: user, in: transaction)
        default: return
        }
    }

    /// The recipient of a link: the owner of the address, unless banned.
    private func recipient(
        of link: MailedLink, at address: String, _ reader: ObjectReader
    ) throws -> (owner: MailedTokens.Owner, user: JSON)? {
        // A user name never equals another user's address, so the order does not matter.
        let owner =
            try Identities.owner(of: .email(address), key, reader)
            ?? (link == .passwordReset ? Identities.owner(of: .username(address), key, reader) : nil)
        guard let userId = owner, let user = try reader.documentIfFound("_User", userId, caller: .master),
            let email = Self.address(of: user), try !Ban.applies(to: user, reader)
        else { return nil }
        return (.init(userId, email), user)
    }

    /// Sends the mail for a new address. Voids the links to the old one in any case.
    /// - Parameter causer: the author of the change.
    func addressChanged(
        of userId: String, to email: String?, user: JSON, by causer: Principal, in transaction: StoreTransaction
    ) throws {
        try MailedTokens.void(.emailVerification, of: userId, in: transaction)
        try MailedTokens.void(.passwordReset, of: userId, in: transaction)
        guard let email else { return }
        try addressRepeated(of: userId, email, user: user, by: causer, in: transaction)
    }

    /// The address for mails to an account: its e-mail address or else, as in Parse, a user name in the form of an
    /// address.
    package static func address(of user: JSON) -> String? {
        if let email = user["email"]?.stringValue { return email }
        return user["username"]?.stringValue.flatMap { AccountNames.isEmail($0) ? $0 : nil }
    }

    /// Sends the mail for an unverified address that was saved again; apps do so to request another mail. Older links
    /// remain valid.
    func addressRepeated(
        of userId: String, _ email: String, user: JSON, by causer: Principal, in transaction: StoreTransaction
    ) throws {
        guard settings.verifiesEmail, user["emailVerified"] != true else { return }
        // Repeated changes or sign-ups could otherwise be abused to send mails to arbitrary addresses.
        var quotas = quotas(of: userId, email, .emailVerification, user)
        if !causer.master, !causer.network.isEmpty {
            quotas.insert(.signingUp(network: causer.network, perHour: settings.signUpMailsPerAddress), at: 0)
        }
        guard try MailQuota.admits(quotas, in: transaction) else { return }
        try send(.emailVerification, to: .init(userId, email), user: user, in: transaction)
    }

    private func quotas(
        of userId: String, _ email: String, _ link: MailedLink, _ user: JSON
    ) -> [MailQuota.Subject] {
        let mailbox = key.digest(Mailbox(email).address, for: .mailAddress)
        let isVerified = user["emailVerified"] == true
        return [
            .account(userId, link), .mailbox(mailbox, isVerified: isVerified),
            .mailboxInADay(mailbox, isVerified: isVerified),
        ]
    }

    private func send(
        _ link: MailedLink, to owner: MailedTokens.Owner, user: JSON, in transaction: StoreTransaction
    ) throws {
        let isReset = link == .passwordReset
        let hours = isReset ? settings.resetHours : settings.verificationHours
        let token = try MailedTokens.make(
            link, for: owner, lifetime: .seconds(Int64(hours) * 3600), in: transaction)
        let path = isReset ? "request_password_reset" : "verify_email"
        // An unverified address may belong to another person, who must not get a text written by the user.
        let name = user["emailVerified"] == true ? SessionAnswers.name(of: user) : ""
        let model: JSON = [
            "name": .string(name), "link": .string("\(settings.applicationURL)/\(path)?token=\(token)"),
            "hours": .int(Int64(hours)),
        ]
        let mail = SendMailRequest.with {
            $0.template = isReset ? "password-reset" : "email-verification"
            $0.toAddress = owner.email
            $0.toName = name
            $0.model = .init(model.serialized)
            $0.addressVerified = user["emailVerified"] == true
            $0.userID = owner.userId
        }
        try messages.add(
            MailCalls.send, mail, key: "user:\(owner.userId):link:\(Names.random(20))", in: transaction)
    }
}
