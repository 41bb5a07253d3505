import Foundation
import ObjectStore
import ParseProtocol
import Testing
import UsersService

/// One-time codes and recovery codes: their computation, and that each is accepted once.
@Suite struct UsersSecondFactorTests {
    /// RFC 6238, appendix B, for SHA-1: the secret is the text below, the codes have eight digits.
    private static let secret = Array("12345678901234567890".utf8)
    static let published: [(Int64, String)] = [
        (59, "94287082"), (1_111_111_109, "07081804"), (1_111_111_111, "14050471"), (1_234_567_890, "89005924"),
        (2_000_000_000, "69279037"), (20_000_000_000, "65353130"),
    ]

    @Test(arguments: published)
    func codesAreThoseOfRFC6238(_ seconds: Int64, _ code: String) {
        let moment = Timestamp(milliseconds: seconds * 1000)
        let password = OneTimePassword(secret: Self.secret)
        #expect(password.code(of: OneTimePassword.step(at: moment), digits: 8) == code)
        #expect(password.step(of: String(code.suffix(6)), at: moment) == seconds / 30)
    }

    /// RFC 4226, appendix D: the first counters.
    @Test func codesAreThoseOfRFC4226() {
        let codes = (0..<10).map { OneTimePassword(secret: Self.secret).code(of: $0) }
        #expect(
            codes == [
                "755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871", "520489",
            ])
    }

    @Test func aCodeCountsHalfAMinuteEarlyOrLateAndNoLonger() {
        let password = OneTimePassword(secret: Self.secret)
        let now = Timestamp(milliseconds: 1_700_000_010_000)
        let present = OneTimePassword.step(at: now)
        for offset in -3...3 {
            let found = password.step(of: password.code(of: present + Int64(offset)), at: now)
            #expect(found == (abs(offset) <= 1 ? present + Int64(offset) : nil), "\(offset)")
        }
        for text in ["", "0", "12345", "1234567", "abcdef", String(repeating: "9", count: 10_000)] {
            #expect(password.step(of: text, at: now) == nil)
        }
    }

    @Test(
        arguments: [
            ("", []), ("MY======", [0x66]), ("MZXQ====", [0x66, 0x6F]), ("mzxw6", [0x66, 0x6F, 0x6F]),
            ("MZXW6YQ=", [0x66, 0x6F, 0x6F, 0x62]), ("MZXW6YTBOI", Array("foobar".utf8)), ("MZ=XQ", nil), ("M1", nil),
            ("ä", nil), ("MZ XQ", nil),
        ] as [(String, [UInt8]?)])
    func base32IsThatOfRFC4648(_ text: String, _ bytes: [UInt8]?) { #expect(Base32.decode(text) == bytes) }

    private static let base32 = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"

    @Test(
        arguments: [
            (["token": 123456], 141), (["token": ["$ne": ""]], 141), ([:], 141),
            (["secret": "short", "token": "1"], 141),
            (["secret": .string(base32)], 141), (["secret": 5, "token": "1"], 141),
            (["secret": .string(base32 + "!"), "token": "1"], 141),
            (["secret": .string(String(repeating: "A", count: 257)), "token": "1"], 141),
            (["secret": .string(base32), "token": "1", "old": ["$gt": ""]], 141), (["mobile": "+15550100"], 252),
            (["mobile": "+15550100", "token": "1"], 252), ("x", 141), ([], 141),
            (["token": .string(String(repeating: "1", count: 65))], 141),
        ] as [(JSON, Int)])
    func refusesWhatIsNoSecondFactor(_ value: JSON, _ code: Int) {
        #expect(UsersAccountTests.code { _ = try SecondFactorRequest(value) } == code)
    }

    @Test func readsWhatAppsSend() throws {
        #expect(try SecondFactorRequest(nil) == .keep)
        #expect(try SecondFactorRequest(["status": "enabled"]) == .keep, "An app saves what it read.")
        #expect(try SecondFactorRequest(.null) == .remove(old: nil))
        #expect(try SecondFactorRequest(["secret": .null, "old": "1"]) == .remove(old: "1"))
        #expect(try SecondFactorRequest(["token": "123456"]) == .prove("123456"))
        #expect(
            try SecondFactorRequest(["secret": .string(Self.base32), "token": "1"])
                == .enrol(secret: Self.secret, token: "1", old: nil))
    }

    @Test(
        arguments: [
            (["authData": ["mfa": ["token": "1"], "facebook": ["id": "1"]]], 252), (["authData": ["x": [:]]], 252),
            (["authData": []], 252), (["authData": ["mfa": .null]], 141), (["authData": ["mfa": ["token": 1]]], 141),
            (["authData": ["mfa": ["secret": .string(base32), "token": "1"]]], 141),
        ] as [(JSON, Int)])
    func aSignInTakesNothingButACode(_ more: JSON, _ code: Int) {
        var body = more
        body["username"] = "ann"
        body["password"] = "secret1"
        #expect(UsersAccountTests.code { _ = try SignInRequest(body) } == code)
    }

    @Test func aQueryStringCarriesTheCodeAsText() throws {
        let body: JSON = ["username": "ann", "password": "secret1", "authData": #"{"mfa":{"token":"123456"}}"#]
        #expect(try SignInRequest(body).secondFactor == .prove("123456"))
        var other = body
        other["authData"] = #"{"facebook":{"id":"1"}}"#
        #expect(UsersAccountTests.code { _ = try SignInRequest(other) } == 252)
    }

    @Test func everyCodeCountsOnceAndOnlyForItsUser() async throws {
        try await withUsersStore { store in
            let password = OneTimePassword(secret: Self.secret)
            let codes = try await store.write { transaction in
                let present = OneTimePassword.step(at: transaction.now)
                let codes = try SecondFactors.enrol(
                    "u1", secret: Self.secret, step: present - 1, key: testAccountKey, in: transaction)
                try #require(codes.count == 2)
                #expect(Set(codes).count == 2)
                #expect(codes.allSatisfy { $0.count == 30 })
                _ = try SecondFactors.enrol(
                    "u2", secret: Array("another secret, long".utf8), step: present - 1, key: testAccountKey,
                    in: transaction)
                func use(_ code: String, _ user: String = "u1") throws -> Bool {
                    try SecondFactors.use(code, of: user, key: testAccountKey, in: transaction)
                }
                #expect(try !use(password.code(of: present - 1)), "It was used up by enrolling.")
                #expect(try !use(password.code(of: present), "u2"))
                #expect(try use(password.code(of: present)))
                #expect(try !use(password.code(of: present)))
                #expect(try use(password.code(of: present + 1)))
                #expect(try !use(password.code(of: present)), "An earlier code does not come back.")
                #expect(try !use(codes[0], "u2"))
                #expect(try use(codes[0]))
                #expect(try !use(codes[0]))
                #expect(try use(codes[1]))
                #expect(try !use("nobody", "u3"))
                return codes
            }
            try await store.read { reader in
                let rows = try reader.rows("SELECT hash FROM recoveryCodes WHERE userId = 'u1'")
                #expect(rows.count == 2)
                for row in rows { #expect(try !codes.contains(row.text("hash"))) }
            }
        }
    }

    /// 2026-33624, 2026-34224: when the same code is sent many times at once, it is accepted once.
    @Test func aConcurrentCodeCountsOnce() async throws {
        try await withUsersStore { store in
            let codes = try await store.write {
                try SecondFactors.enrol("u1", secret: Self.secret, step: 0, key: testAccountKey, in: $0)
            }
            let present = OneTimePassword.step(at: .now)
            for code in [codes[0], OneTimePassword(secret: Self.secret).code(of: present + 1)] {
                let used = try await withThrowingTaskGroup(of: Bool.self) { group in
                    for _ in 0..<20 {
                        group.addTask {
                            try await store.write { try SecondFactors.use(code, of: "u1", key: testAccountKey, in: $0) }
                        }
                    }
                    return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
                }
                #expect(used == 1)
            }
        }
    }
}
