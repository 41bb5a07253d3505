import ParseProtocol
import Testing
import UsersService

/// Decisions about identity providers without calling them: when keys are fetched, how requests to X are signed, and
/// how links change a user.
@Suite struct UsersProviderTests {
    private let start = Timestamp(milliseconds: 1_700_000_000_000)
    private let keys: JSON = ["keys": [["kid": "a", "kty": "RSA"], ["kid": "b", "kty": "EC"], ["kty": "RSA"]]]

    private func after(_ seconds: Int64) -> Timestamp { start.advanced(by: .seconds(seconds)) }

    @Test func keysAreFetchedWhenThereAreNoneAndKeptForAnHour() {
        var schedule = KeySchedule()
        #expect(schedule.wanted("a", at: start) == .fetch)
        let isKeySet = schedule.fetched(keys, at: start)
        #expect(isKeySet)
        #expect(schedule.wanted("a", at: after(3599)) == .key(["kid": "a", "kty": "RSA"]))
        #expect(schedule.wanted("a", at: after(3600)) == .fetch)
    }

    @Test func anUnknownKeyIsAskedForOnceAMinute() {
        var schedule = KeySchedule()
        _ = schedule.fetched(keys, at: start)
        #expect(schedule.wanted("x", at: after(1)) == .fetch)
        _ = schedule.fetched(keys, at: after(1))
        #expect(schedule.wanted("x", at: after(2)) == .unknown)
        #expect(schedule.wanted("y", at: after(60)) == .unknown)
        #expect(schedule.wanted("y", at: after(61)) == .fetch)
    }

    @Test func whenTheProviderIsDownOldKeysServeForADay() {
        var schedule = KeySchedule()
        _ = schedule.fetched(keys, at: start)
        #expect(schedule.wanted("a", at: after(4000)) == .fetch)
        schedule.failed(at: after(4000))
        #expect(schedule.wanted("a", at: after(4001)) == .key(["kid": "a", "kty": "RSA"]))
        #expect(schedule.wanted("a", at: after(4005)) == .fetch)
        #expect(schedule.known("a", at: after(86_399)) != nil)
        #expect(schedule.known("a", at: after(86_400)) == nil)
    }

    @Test(arguments: [[:], [], ["keys": []], ["keys": "x"], ["keys": [["kty": "RSA"]]]] as [JSON])
    func whatIsNoKeySetReplacesNothing(_ answer: JSON) {
        var schedule = KeySchedule()
        let isKeySet = schedule.fetched(keys, at: start)
        #expect(isKeySet)
        let isReplacement = schedule.fetched(answer, at: after(1))
        #expect(!isReplacement)
        #expect(schedule.known("a", at: after(2)) != nil)
    }

    /// The example in X's own guide "Creating a signature".
    @Test func questionsToXAreSignedAsItsGuideSays() {
        let header = OAuthSignature(
            consumerKey: "xvz1evFS4wEEPTGEFPHBog", consumerSecret: "kAcSOqF21Fu85e7zjz7ZN2U4ZRhfV3WpwPAoE3Z7kBw",
            token: "370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb",
            tokenSecret: "LswwdoUaIvS8ltyTt5jkRh4J50vUPVVHtR2YPi5kE",
            nonce: "kYjzVBB8Y0ZFabxSWbWovY3uYSQ2pTgmZeNu2VS4cg",
            seconds: 1_318_622_958
        ).header(
            method: "POST", url: "https://api.twitter.com/1/statuses/update.json",
            extra: [
                ("include_entities", "true"), ("status", "Hello Ladies + Gentlemen, a signed OAuth request!"),
            ])
        #expect(header.contains(#"oauth_signature="tnnArxj06cWHq44gCs1OSKk%2FjLY%3D""#), "\(header)")
    }

    // MARK: Links

    private func update(_ authData: JSON, of stored: JSON, hasPassword: Bool = true) throws -> AccountUpdate {
        try AccountUpdate(
            AccountFields(["authData": authData], isMaster: false),
            of: ["objectId": "u1", "username": "ann", "authData": stored], userId: "u1", hasPassword: hasPassword)
    }

    @Test func aLinkKeepsTheIdAndNothingElse() throws {
        let update = try update(["facebook": ["id": "7", "access_token": "secret"]], of: [:])
        #expect(update.changes == ["authData": ["facebook": ["id": "7"]]])
        #expect(update.taken == [.provider(.facebook, id: "7")])
        #expect(update.given.isEmpty)
    }

    @Test func anUnlinkLeavesTheOthers() throws {
        let update = try update(["facebook": .null], of: ["facebook": ["id": "7"], "twitter": ["id": "8"]])
        #expect(update.changes == ["authData": ["twitter": ["id": "8"]]])
        #expect(update.given == [.provider(.facebook)])
        #expect(update.taken.isEmpty)
    }

    @Test func aProviderEndsTheAnonymousId() throws {
        let link: JSON = ["facebook": ["id": "7", "access_token": "x"], "anonymous": ["id": "a"]]
        let update = try update(link, of: ["anonymous": ["id": "a"]], hasPassword: false)
        #expect(update.changes == ["authData": ["facebook": ["id": "7"]]])
        #expect(update.given == [.anonymous])
        #expect(update.taken == [.provider(.facebook, id: "7")])
    }

    @Test func anIdWithoutProofIsOnlyEverTheOldOne() throws {
        #expect(try update(["facebook": ["id": "7"]], of: ["facebook": ["id": "7"]]).changes.isEmpty)
        #expect(throws: ParseError.self) { try update(["facebook": ["id": "8"]], of: ["facebook": ["id": "7"]]) }
        #expect(throws: ParseError.self) { try update(["facebook": ["id": "8"]], of: [:]) }
    }

    @Test func anAnonymousIdCountsOnlyWhereItIsAllThereIs() throws {
        func identities(_ authData: JSON, hasPassword: Bool) throws -> [Identity] {
            try AccountFields(["authData": authData], isMaster: false).identities(hasPassword: hasPassword)
        }
        let both: JSON = ["anonymous": ["id": "a"], "facebook": ["id": "7", "access_token": "x"]]
        #expect(try identities(["anonymous": ["id": "a"]], hasPassword: false) == [.anonymous("a")])
        #expect(try identities(["anonymous": ["id": "a"]], hasPassword: true).isEmpty)
        #expect(try identities(both, hasPassword: false) == [.provider(.facebook, id: "7")])
    }
}
