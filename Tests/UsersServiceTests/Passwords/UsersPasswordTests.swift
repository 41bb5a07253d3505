import ParseProtocol
import Testing
import UsersService

/// Hashing passwords: the stored form, and how many hash at once.
@Suite struct UsersPasswordTests {
    static let cost = ScryptCost(parallelism: 1)

    @Test func aHashMatchesItsPasswordOnly() throws {
        let hash = try PasswordHash(of: "p_n7!-e8", cost: Self.cost)
        #expect(try hash.matches("p_n7!-e8"))
        #expect(try !hash.matches("p_n7!-e9"))
        #expect(try !hash.matches(""))
    }

    @Test func aHashSurvivesItsStoredForm() throws {
        let text = try PasswordHash(of: "secret", cost: Self.cost).phc
        #expect(text.hasPrefix("$scrypt$ln=14,r=8,p=1$"))
        #expect(!text.hasSuffix("="))
        #expect(try PasswordHash(phc: text)?.matches("secret") == true)
        #expect(try PasswordHash(of: "secret", cost: Self.cost).phc != text)
    }

    @Test(arguments: [
        "", "$", "secret", "$argon2id$v=19$m=65536,t=3,p=4$c2FsdA$aGFzaA", "$scrypt$ln=14,r=8,p=1$c2FsdA$aGFzaA",
        "$scrypt$ln=60,r=8,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "$scrypt$ln=14,r=8,p=-1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "$scrypt$r=8,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    ])
    func anythingElseIsNoHash(_ text: String) { #expect(PasswordHash(phc: text) == nil) }

    /// RFC 7914, section 12, first 32 bytes of the third vector: N = 16384, r = 8, p = 1.
    @Test func agreesWithThePublishedVector() throws {
        let text = "$scrypt$ln=14,r=8,p=1$U29kaXVtQ2hsb3JpZGU$cCO9yzr9c0hGHAbNgf046/2o+7qQT44+qbVD9lRdofI"
        #expect(try PasswordHash(phc: text)?.matches("pleaseletmein") == true)
    }

    /// A hash in a database stays valid: another library made this one.
    @Test func aHashThatWasStoredBeforeMatches() throws {
        let text = "$scrypt$ln=14,r=8,p=2$AAECAwQFBgcICQoLDA0ODw$oKcp9IX4je0hywMP4cCpcXqSskw4yX1IByH017xEofo"
        #expect(try PasswordHash(phc: text)?.matches("an old password") == true)
        #expect(try PasswordHash(phc: text)?.matches("an old passwore") == false)
        #expect(PasswordHash(phc: text)?.phc == text)
    }

    @Test func verifyingAgainstNobodyIsAlwaysWrong() async throws {
        let hasher = PasswordHasher(cost: Self.cost)
        let client = HashingClient("network:7f000001")
        #expect(try await !hasher.verify("secret", against: nil, for: client))
        #expect(try await !hasher.verify("secret", against: "damaged", for: client))
        #expect(try await hasher.verify("secret", against: hasher.hash("secret", for: client), for: client))
    }
}
