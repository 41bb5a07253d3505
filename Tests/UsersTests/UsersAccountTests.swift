import Messages
import ParseProtocol
import ServiceKit
import Testing
import UsersService

/// The fields that a client may send at sign-up or in a change of a user, and their effects.
@Suite struct UsersAccountTests {
    static func code(_ work: () throws -> Void) -> Int? {
        do {
            try work()
            return nil
        } catch {
            return (error as? ParseError)?.code.rawValue
        }
    }

    static let refusedSignUps: [(JSON, Int)] = [
        ([:], 200), (["username": 5, "password": "secret1"], 200), (["username": "", "password": "secret1"], 200),
        (["username": ["$regex": "."], "password": "secret1"], 200), (["username": .null, "password": "secret1"], 200),
        (["username": "a\u{0}b", "password": "secret1"], 200), (["username": "ann"], 201),
        (["username": "ann", "password": ["$ne": "x"]], 201), (["username": "ann", "password": ""], 201),
        (["username": "ann", "password": .null], 201),
        (["username": "ann", "password": .string(String(repeating: "x", count: 1025))], 142),
        (["username": "ann", "password": "secret1", "email": "nobody"], 125),
        (["username": "ann", "password": "secret1", "email": ["a@b.c"]], 125),
        (["username": "ann", "password": "secret1", "email": "a@b.c\r\nBcc: x@y.z"], 125),
        (["username": "ann", "password": "secret1", "emailVerified": true], 119),
        (["username": "ann", "password": "secret1", "isAdmin": true], 119),
        (["username": "ann", "password": "secret1", "sessionToken": "r:0"], 119),
        (["username": "ann", "password": "secret1", "authData.anonymous.id": "x"], 105),
        (["username": "ann", "password": "secret1", "objectId": 1], 105),
        (["username": "ann", "password": "secret1", "objectId": "mine"], 105),
        (["authData": [:]], 200), (["authData": ["anonymous": .null]], 200), (["authData": "x"], 253),
        (["authData": ["anonymous": ["id": ["$ne": ""]]]], 253), (["authData": ["anonymous": [:]]], 253),
        (["authData": ["anonymous": ["id": ""]]], 253),
        (["authData": ["anonymous": ["id": .string(String(repeating: "x", count: 65))]]], 253),
        (["authData": ["facebook": ["id": 1]]], 253), (["authData": ["facebook": ["id": ["$regex": "^1"]]]], 253),
        (["authData": ["facebook": "1"]], 253), (["authData": ["facebook": [:]]], 253),
        (["authData": ["myspace": ["id": "1"]]], 252), (["authData.facebook.id": "1"], 105),
        (["authData": ["anonymous": ["id": "1"], "nobody": ["id": "1"]]], 252),
    ]

    @Test(arguments: refusedSignUps)
    func refusesASignUpThatIsNotOne(_ body: JSON, _ code: Int) {
        #expect(Self.code { try AccountFields(body, isMaster: false).checkSignUp() } == code)
    }

    static let signUps: [JSON] = [
        ["username": "ann", "password": "secret"], ["username": "ann", "password": "sécret", "isAdmin": false],
        ["username": "ann", "password": "secret", "email": "ann@example.com", "phone": "415", "authData": .null],
        ["authData": ["anonymous": ["id": "0b4a"], "facebook": .null]],
    ]

    @Test(arguments: signUps)
    func acceptsASignUp(_ body: JSON) throws {
        try AccountFields(body, isMaster: false).checkSignUp()
    }

    @Test func anAddressOfAnEarlierReleaseMayBeRepeated() throws {
        let fields = try AccountFields(["email": "ann@intranet"], isMaster: false)
        try fields.checkEmail(stored: "ann@intranet")
        #expect(Self.code { try fields.checkEmail(stored: "ann@intranet.example") } == 125)
        #expect(Self.code { try fields.checkEmail(stored: nil) } == 125)
    }

    @Test func takesWhatIsSpecialOutOfTheObject() throws {
        let fields = try AccountFields(
            [
                "username": "Ann", "password": "secret1", "email": "ann@example.com", "phone": "415",
                "authData": ["anonymous": ["id": "7"]], "emailVerified": false,
            ], isMaster: false)
        #expect(fields.username == "Ann")
        #expect(fields.password == "secret1")
        #expect(fields.email == .set("ann@example.com"))
        #expect(fields.anonymousId == .set("7"))
        #expect(fields.rest == ["phone": "415"])
    }

    @Test(
        arguments: [
            ["username": "4242424242424242"], ["email": "4242-4242-4242-4242@example.com"],
            ["phone": "4242 4242 4242 4242"],
            ["wallet": ["card": [4_242_424_242_424_242]]],
        ] as [JSON])
    func findsACardNumberWhereverItIs(_ body: JSON) throws {
        #expect(try AccountFields(body, isMaster: false).holdCardNumber)
    }

    @Test func aFileNameIsNoCardNumber() throws {
        let photo: JSON = ["__type": "File", "name": "4242424242424242_me.png"]
        #expect(try !AccountFields(["photo": photo, "password": "4242424242424242"], isMaster: false).holdCardNumber)
    }

    @Test func theMasterKeySetsWhatClientsCannot() throws {
        let fields = try AccountFields(["isAdmin": true, "emailVerified": true], isMaster: true)
        #expect(fields.rest == ["isAdmin": true, "emailVerified": true])
    }

    // MARK: Updates

    static let stored: JSON = [
        "objectId": "u1", "username": "ann", "email": "ann@example.com", "emailVerified": true,
        "ACL": ["u1": ["read": true, "write": true]],
    ]
    static let anonymous: JSON = ["objectId": "u1", "username": "x7", "authData": ["anonymous": ["id": "7"]]]

    static func update(_ body: JSON, of stored: JSON = stored, hasPassword: Bool = true) throws -> AccountUpdate {
        try AccountUpdate(AccountFields(body, isMaster: false), of: stored, userId: "u1", hasPassword: hasPassword)
    }

    @Test func newNamesAreTakenAndRepeatedOnesLeftAlone() throws {
        let update = try Self.update(["username": "Anne", "email": "ann@example.com", "city": "Ulm"])
        #expect(update.changes == ["username": "Anne", "city": "Ulm"])
        #expect(update.taken == [.username("anne")])
        #expect(update.given.isEmpty)
    }

    @Test func aNewAddressIsNotVerified() throws {
        let update = try Self.update(["email": "anne@example.com"])
        #expect(update.changes == ["email": "anne@example.com", "emailVerified": false])
        #expect(update.taken == [.email("anne@example.com")])
        #expect(try Self.update(["email": ["__op": "Delete"]]).given == [.email])
    }

    @Test func aClientMayOnlyRepeatWhatIsNotItsOwn() throws {
        #expect(try Self.update(["emailVerified": true, "isAdmin": false]).changes.isEmpty)
        #expect(Self.code { _ = try Self.update(["emailVerified": false]) } == 119)
        #expect(Self.code { _ = try Self.update(["isAdmin": true]) } == 119)
        #expect(Self.code { _ = try Self.update(["isAdmin": ["__op": "Delete"]]) } == 119)
    }

    @Test func aPasswordEndsAnonymity() throws {
        let update = try Self.update(
            ["username": "ann", "password": "secret1", "authData": ["anonymous": ["id": "7"]]], of: Self.anonymous,
            hasPassword: false)
        #expect(update.changes == ["username": "ann", "authData": ["__op": "Delete"]])
        #expect(update.taken == [.username("ann")])
        #expect(update.given == [.anonymous])
    }

    @Test func aFullUserIsNotLinkedToAnAnonymousIdAgain() throws {
        let update = try Self.update(["authData": ["anonymous": ["id": "7"]]])
        #expect(update.changes.isEmpty)
        #expect(update.taken.isEmpty)
    }

    @Test func anAnonymousUserKeepsAWayBack() throws {
        let body: JSON = ["authData": ["anonymous": .null]]
        #expect(Self.code { _ = try Self.update(body, of: Self.anonymous, hasPassword: false) } == 253)
    }

    static let acls: [(JSON?, JSON)] = [
        (nil, ["u1": ["read": true, "write": true]]), (.null, ["u1": ["read": true, "write": true]]),
        (["__op": "Delete"], ["u1": ["read": true, "write": true]]), ([:], ["u1": ["read": true, "write": true]]),
        (["*": ["read": true], "u1": ["read": true]], ["*": ["read": true], "u1": ["read": true, "write": true]]),
        ("x", "x"),
    ]

    @Test(arguments: acls)
    func aUserNeverLosesTheOwnRights(_ wanted: JSON?, _ kept: JSON) {
        #expect(AccountUpdate.acl(wanted, of: "u1", isMaster: false) == kept)
    }

    /// T12: an operator's ACL is stored unchanged; removing the ACL makes the user private.
    @Test func theMasterKeyTakesTheOwnRightsAway() {
        let own: JSON = ["u1": ["read": true, "write": true]]
        #expect(AccountUpdate.acl([:], of: "u1", isMaster: true) == [:])
        #expect(AccountUpdate.acl(["u2": ["read": true]], of: "u1", isMaster: true) == ["u2": ["read": true]])
        #expect(AccountUpdate.acl(.null, of: "u1", isMaster: true) == own)
        #expect(AccountUpdate.acl(["__op": "Delete"], of: "u1", isMaster: true) == own)
    }

    // MARK: Rights

    @Test(arguments: [ProposedChange.Verb.update, .delete])
    func onlyTheUserAndTheMasterKeyChangeAUser(_ verb: ProposedChange.Verb) throws {
        func code(_ principal: Principal) -> Int? {
            Self.code {
                try UserRules.authorize(
                    ProposedChange(
                        verb: verb, className: "_User", objectId: "u1", object: [:], principal: principal, for: nil))
            }
        }
        #expect(code(Principal()) == 206)
        #expect(code(.with { $0.userID = "u2" }) == 206)
        #expect(
            code(
                .with {
                    $0.userID = "u2"; $0.roles = ["admins"]
                }) == 206)
        #expect(code(.with { $0.userID = "u1" }) == nil)
        #expect(code(.satchel) == nil)
    }

    static let refusedSignIns: [(JSON, Int)] = [
        ([:], 200), (["password": "secret1"], 200), (["username": "", "password": "secret1"], 200),
        (["username": ["$ne": ""], "password": "secret1"], 101), (["email": 5, "password": "x"], 101),
        (["username": "ann", "email": ["a"], "password": "x"], 101), (["username": "ann"], 201),
        (["username": "ann", "password": ["$ne": ""]], 101), (["username": "ann", "password": ""], 201),
        (["username": ["$ne": ""]], 201),
        (["username": "ann", "password": "secret1", "authData": ["anonymous": ["id": "7"]]], 252),
    ]

    @Test func theMasterKeyChoosesAnId() throws {
        try AccountFields(["username": "ann", "password": "secret1", "objectId": "mine"], isMaster: true).checkSignUp()
    }

    @Test(arguments: ["username", "email"])
    func aSignInWithALongNameIsAWrongOne(_ field: String) throws {
        func body(_ bytes: Int) -> JSON {
            .object([field: .string(String(repeating: "x", count: bytes)), "password": "secret1"])
        }
        _ = try SignInRequest(body(320))
        #expect(Self.code { _ = try SignInRequest(body(321)) } == 101)
    }

    @Test(arguments: refusedSignIns)
    func refusesASignInThatIsNotOne(_ body: JSON, _ code: Int) {
        #expect(Self.code { _ = try SignInRequest(body) } == code)
    }
}
