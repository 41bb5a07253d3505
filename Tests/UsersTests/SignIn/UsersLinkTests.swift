import Foundation
import Messages
import ObjectStore
import ParseProtocol
import ProcessKit
import Testing
import UsersService

/// Single-use links and quotas in the store: which links are valid, how often, and how long.
@Suite struct UsersLinkTests {
    private let owner = MailedTokens.Owner("u1", "ann@example.com")

    @Test func aTokenIsUsedOnceAndOnlyForItsPurpose() async throws {
        try await withUsersStore { store in
            let token = try await store.write { [owner] in
                try MailedTokens.make(.passwordReset, for: owner, lifetime: .seconds(60), in: $0)
            }
            #expect(token.count == 32)
            try await store.write { [owner] transaction throws in
                #expect(try MailedTokens.use(.emailVerification, token, in: transaction) == nil)
                #expect(try MailedTokens.use(.passwordReset, token.uppercased(), in: transaction) == nil)
                #expect(try MailedTokens.owner(.passwordReset, token, at: transaction.now, transaction) == owner)
                #expect(try MailedTokens.use(.passwordReset, token, in: transaction) == owner)
                #expect(try MailedTokens.use(.passwordReset, token, in: transaction) == nil)
                #expect(try MailedTokens.owner(.passwordReset, token, at: transaction.now, transaction) == nil)
                #expect(try MailedTokens.formerOwner(.passwordReset, token, transaction) == owner)
            }
        }
    }

    @Test func aTokenPastItsTimeIsVoid() async throws {
        try await withUsersStore { store in
            try await store.write { [owner] transaction throws in
                let token = try MailedTokens.make(.emailVerification, for: owner, lifetime: .zero, in: transaction)
                #expect(try MailedTokens.owner(.emailVerification, token, at: transaction.now, transaction) == nil)
                #expect(try MailedTokens.use(.emailVerification, token, in: transaction) == nil)
                let later = try MailedTokens.make(
                    .emailVerification, for: owner, lifetime: .seconds(5), in: transaction)
                let soon = transaction.now.advanced(by: .seconds(4))
                #expect(try MailedTokens.owner(.emailVerification, later, at: soon, transaction) == owner)
                let end = transaction.now.advanced(by: .seconds(5))
                #expect(try MailedTokens.owner(.emailVerification, later, at: end, transaction) == nil)
            }
        }
    }

    @Test func usingOneLinkEndsTheOthersOfItsKind() async throws {
        try await withUsersStore { store in
            try await store.write { [owner] transaction throws in
                let tokens = try (0..<3).map { _ in
                    try MailedTokens.make(.passwordReset, for: owner, lifetime: .seconds(60), in: transaction)
                }
                let other = try MailedTokens.make(
                    .emailVerification, for: owner, lifetime: .seconds(60), in: transaction)
                #expect(try MailedTokens.use(.passwordReset, tokens[1], in: transaction) == owner)
                #expect(try MailedTokens.use(.passwordReset, tokens[0], in: transaction) == nil)
                #expect(try MailedTokens.use(.passwordReset, tokens[2], in: transaction) == nil)
                #expect(try MailedTokens.use(.emailVerification, other, in: transaction) == owner)
            }
        }
    }

    @Test func aQuotaAdmitsSoManyAnHour() async throws {
        try await withUsersStore { store in
            for subject in [
                MailQuota.Subject.account("u1", .passwordReset), .asking(network: "cb007109", perHour: 30),
                .signingUp(network: "cb007109", perHour: 7), .mailbox("m", isVerified: false),
                .mailboxInADay("m", isVerified: false), .mailboxInADay("m", isVerified: true),
            ] {
                try await store.write { transaction throws in
                    for _ in 0..<subject.max { #expect(try MailQuota.admits(subject, in: transaction) == true) }
                    #expect(try MailQuota.admits(subject, in: transaction) == false)
                }
            }
            try await store.write { transaction throws in
                #expect(try MailQuota.admits(.account("u1", .emailVerification), in: transaction) == true)
                #expect(try MailQuota.admits(.mailbox("m", isVerified: true), in: transaction) == true)
                // If one quota is exhausted, the later ones are not charged.
                let both = [MailQuota.Subject.mailbox("m", isVerified: false), .mailbox("other", isVerified: false)]
                for _ in 0..<9 { #expect(try MailQuota.admits(both, in: transaction) == false) }
                #expect(try MailQuota.admits(both[1], in: transaction) == true)
                // As with the other quotas, 0 means unlimited.
                for subject in [
                    MailQuota.Subject.asking(network: "cb007109", perHour: 0),
                    .signingUp(network: "cb007109", perHour: 0),
                ] { for _ in 0..<3 { #expect(try MailQuota.admits(subject, in: transaction) == true) } }
            }
        }
    }

    @Test func noQuotaIsASetting() throws {
        let settings = try UsersSettings(
            Settings(["SATCHEL_MAILS_PER_ADDRESS": "0", "SATCHEL_SIGNUP_MAILS_PER_ADDRESS": "0"]))
        #expect(settings.mailsPerAddress == 0)
        #expect(settings.signUpMailsPerAddress == 0)
    }

    /// A session is extended by use, unless the master key chose its end.
    @Test func aUsedSessionIsExtendedPastHalfOfItsTime() async throws {
        try await withUsersStore { store in
            try await store.write { transaction throws in
                let lifetime = Duration.seconds(1000)
                let times = SessionExtension(lifetime: lifetime, after: lifetime / 2)
                let session = try Sessions.open(
                    for: "u1", SessionOrigin(action: .login, provider: .password), installationId: nil,
                    lifetime: lifetime, key: testAccountKey, in: transaction)
                let id = session.document["objectId"]?.stringValue ?? ""
                func end() throws -> Timestamp? {
                    try Sessions.expiry(
                        of: Sessions.live(session.token, testAccountKey, at: transaction.now, transaction))
                }
                let full = transaction.now.advanced(by: lifetime)
                for (left, isExtended) in [(501, false), (499, true)] as [(Int64, Bool)] {
                    let near = transaction.now.advanced(by: .seconds(left))
                    _ = try transaction.update("_Session", id, ["expiresAt": near.wire], caller: .master)
                    try Sessions.extend(session.token, extension: nil, key: testAccountKey, in: transaction)
                    #expect(try end() == near, "Not where sessions are not extended.")
                    try Sessions.extend(session.token, extension: times, key: testAccountKey, in: transaction)
                    #expect(try end() == (isExtended ? full : near))
                }
                let chosen = transaction.now.advanced(by: .seconds(10))
                _ = try transaction.update("_Session", id, ["expiresAt": chosen.wire], caller: .master)
                try Sessions.fix(id, in: transaction)
                try Sessions.extend(session.token, extension: times, key: testAccountKey, in: transaction)
                #expect(try end() == chosen)
            }
        }
    }
}
