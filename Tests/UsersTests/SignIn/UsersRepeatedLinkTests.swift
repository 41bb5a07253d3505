import ParseProtocol
import Testing
import UsersService

/// Saves that repeat an existing link, which SDKs send with every save of a linked user.
@Suite struct UsersRepeatedLinkTests {
    private func update(
        _ authData: JSON, of stored: JSON, unverified: Set<AuthProvider>
    ) throws -> AccountUpdate {
        try AccountUpdate(
            AccountFields(["authData": authData], isMaster: false),
            of: ["objectId": "u1", "username": "ann", "authData": stored], userId: "u1", hasPassword: true,
            unverified: unverified)
    }

    private static let proof: JSON = ["facebook": ["id": "7", "access_token": "ended"]]

    @Test func theLinkThatIsThereChangesNothing() throws {
        let update = try update(Self.proof, of: ["facebook": ["id": "7"]], unverified: [.facebook])
        #expect(update.changes.isEmpty)
        #expect(update.taken.isEmpty)
        #expect(update.given.isEmpty)
    }

    /// Between the read of the user and the transaction, the link may have ended, and another user may have its id.
    @Test(arguments: [[:], ["facebook": ["id": "8"]], ["twitter": ["id": "7"]]] as [JSON])
    func anUnverifiedProofLinksNoId(_ stored: JSON) {
        #expect(throws: ParseError.self) { try update(Self.proof, of: stored, unverified: [.facebook]) }
    }

    @Test func theProofsOfOthersCountAsEver() throws {
        let both: JSON = [
            "facebook": ["id": "7", "access_token": "ended"], "twitter": ["id": "8", "auth_token": "x"],
        ]
        let update = try update(both, of: ["facebook": ["id": "7"]], unverified: [.facebook])
        #expect(update.changes == ["authData": ["facebook": ["id": "7"], "twitter": ["id": "8"]]])
        #expect(update.taken == [.provider(.twitter, id: "8")])
    }

    /// A value that is not a proof has no effect on a sign-in.
    @Test func whatIsNullProvesNothingAtASignIn() throws {
        let body: JSON = [
            "username": "ann", "password": "secret1", "authData": ["anonymous": .null, "facebook": .null],
        ]
        #expect(try SignInRequest(body).secondFactor == .keep)
        var linked = body
        linked["authData"] = ["anonymous": ["id": "1"]]
        #expect(throws: AuthProvider.unsupported) { try SignInRequest(linked) }
    }

    /// Mails go to an account's address, or to its user name if it has no address.
    @Test(
        arguments: [
            (["username": "ann@example.com"], "ann@example.com"), (["username": "ann"], nil),
            (["username": "ann@example.com", "email": "a@b.example"], "a@b.example"),
            (["username": "ann", "email": "a@b.example"], "a@b.example"), (["username": "ann@ example.com"], nil),
        ] as [(JSON, String?)])
    func anAccountsMailboxIsItsAddressOrItsName(_ user: JSON, _ address: String?) {
        #expect(LinkMails.address(of: user) == address)
    }
}
