import MessageBus
import ParseProtocol
import Testing
import UsersService

/// bcrypt hashes that a Parse Server 8.2.2 stored (`@node-rs/bcrypt`, `$2y$`).
@Suite struct UsersBcryptTests {
    private static let stored = "$2y$10$ZdWvWiqsmBM8Wjlewy1zrOzUvD7qx2T99f6S7LZKeojhPA2gqHlTK"
    private static let password = "Secret-41-0"
    private static let accented = "$2y$10$PigDNm9yDo50MwdeUKGUvOjWoYc0u/sAnhoNgSf.VgRIxWj3RxqY6"
    private static let long = "$2y$10$spc3240xz9bz9cq0bgRo.O/GI8jW2hd2yPU8de4rn1y2.frzs48nu"
    private static let client = HashingClient("network:7f000001")

    private static func kind(_ letter: String) -> String { "$2\(letter)" + String(stored.dropFirst(3)) }

    @Test(arguments: ["a", "b", "y"]) func eachKindMatchesItsPasswordOnly(_ letter: String) throws {
        let hash = try #require(BcryptHash(Self.kind(letter)))
        #expect(hash.cost == 10)
        #expect(try hash.matches(Self.password))
        for wrong in ["", "Secret-41-1", "secret-41-0", Self.password + " ", String(Self.password.dropLast())] {
            #expect(try !hash.matches(wrong), "\(wrong)")
        }
    }

    @Test func lettersAreUTF8() throws {
        #expect(try BcryptHash(Self.accented)?.matches("Secret-41-3\u{E9}") == true)
        #expect(try BcryptHash(Self.accented)?.matches("Secret-41-3e\u{301}") == false)
    }

    /// As in Parse Server.
    @Test func bytesAfterThe72ndDoNotCount() throws {
        let hash = try #require(BcryptHash(Self.long))
        let begin = "Secret-41-4" + String(repeating: "x", count: 61)
        #expect(begin.utf8.count == 72)
        for password in [begin, begin + String(repeating: "x", count: 29), begin + "another end"] {
            #expect(try hash.matches(password))
            #expect(!BcryptHash.covers(password))
        }
        #expect(try !hash.matches(String(begin.dropLast())))
        #expect(BcryptHash.covers(String(begin.dropLast())))
    }

    /// `crypt` would cut the password off there.
    @Test func aPasswordWithNULIsWrong() throws {
        let hash = try #require(BcryptHash(Self.stored))
        for wrong in ["\(Self.password)\u{0}", "\(Self.password)\u{0}x", "\u{0}", "\u{0}\(Self.password)"] {
            #expect(try !hash.matches(wrong))
        }
    }

    @Test(arguments: [
        "", "$2y$10$", "$2x$10$ZdWvWiqsmBM8Wjlewy1zrOzUvD7qx2T99f6S7LZKeojhPA2gqHlTK",
        "$2y$10$ZdWvWiqsmBM8Wjlewy1zrOzUvD7qx2T99f6S7LZKeojhPA2gqHlT",
        "$2y$10$ZdWvWiqsmBM8Wjlewy1zrOzUvD7qx2T99f6S7LZKeojhPA2gqHlTKK",
        "$2y$+9$ZdWvWiqsmBM8Wjlewy1zrOzUvD7qx2T99f6S7LZKeojhPA2gqHlTK",
        "$2y$03$ZdWvWiqsmBM8Wjlewy1zrOzUvD7qx2T99f6S7LZKeojhPA2gqHlTK",
        "$2y$32$ZdWvWiqsmBM8Wjlewy1zrOzUvD7qx2T99f6S7LZKeojhPA2gqHlTK",
        "$2y$10$ZdWvWiqsmBM8Wjlewy1z:OzUvD7qx2T99f6S7LZKeojhPA2gqHlTK",
        "$2y$10$ZdWvWiqsmBM8Wjlewy1zrOzUvD7qx2T99f6S7LZKeojhPA2gqHl\u{E9}",
        "$scrypt$ln=14,r=8,p=2$AAECAwQFBgcICQoLDA0ODw$oKcp9IX4je0hywMP4cCpcXqSskw4yX1IByH017xEofo",
    ])
    func anythingElseIsNoHash(_ text: String) { #expect(BcryptHash(text) == nil) }

    /// A hash of cost 31 would take a day.
    @Test func aCostOverTheLimitIsNeverTried() throws {
        let hash = try #require(BcryptHash("$2y$31$" + String(Self.stored.dropFirst(7))))
        #expect(hash.cost == 31)
        #expect(try !hash.matches(Self.password))
    }

    @Test func aRightPasswordIsHashedAgain() async throws {
        let hasher = PasswordHasher(cost: UsersPasswordTests.cost)
        func check(_ password: String, _ stored: String?) async throws -> PasswordCheck {
            try await hasher.check(password, against: stored, movedCost: 10, for: Self.client, charging: nil)
        }
        let right = try await check(Self.password, Self.stored)
        #expect(right.isRight)
        let own = try #require(right.replacement)
        #expect(try PasswordHash(phc: own)?.matches(Self.password) == true)
        let again = try await check(Self.password, own)
        #expect(again.isRight)
        #expect(again.replacement == nil)
        for stored in [Self.stored, own, nil] {
            let wrong = try await check("wrong", stored)
            #expect(!wrong.isRight)
            #expect(wrong.replacement == nil)
        }
        // The user may have sent another end than the one of the old password.
        let long = try await check("Secret-41-4" + String(repeating: "x", count: 90), Self.long)
        #expect(long.isRight)
        #expect(long.replacement == nil)
    }

    /// The processor times with a bcrypt hash, a scrypt hash and no hash differ by less than half.
    @Test func allSignInsTakeTheSameWork() async throws {
        let hasher = PasswordHasher(cost: UsersPasswordTests.cost)
        let own = try PasswordHash(of: Self.password, cost: UsersPasswordTests.cost).phc
        var least: [String: Int64] = [:]
        for _ in 0..<5 {
            for (name, stored, password) in [
                ("moved", Self.stored, Self.password), ("moved, wrong", Self.stored, "wrong"), ("own", own, "wrong"),
                ("nobody", nil, "wrong"),
            ] as [(String, String?, String)] {
                let budget = RequestBudget(microseconds: nil)
                _ = try await hasher.check(
                    password, against: stored, movedCost: 11, for: Self.client, charging: budget)
                least[name] = min(least[name] ?? .max, budget.used)
            }
        }
        let times = least.values.sorted()
        let (fastest, slowest) = (try #require(times.first), try #require(times.last))
        #expect(slowest < fastest * 3 / 2, "\(least)")
    }
}
