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
        #expect(text.hasPrefix("$scrypt$ln=14,r=8,p=1$") && !text.hasSuffix("="))
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

    @Test func verifyingAgainstNobodyIsAlwaysWrong() async throws {
        let hasher = PasswordHasher(cost: Self.cost)
        #expect(try await !hasher.verify("secret", against: nil))
        #expect(try await !hasher.verify("secret", against: "damaged"))
        #expect(try await hasher.verify("secret", against: hasher.hash("secret")))
    }

    @Test func fewHashAtOnceAndABoundedNumberWaits() {
        var queue = HashingQueue<Int>(runningMax: 2, waitingMax: 1)
        func outcome(_ admission: HashingQueue<Int>.Admission) -> String {
            switch admission {
            case .run(let job): "run \(job)"
            case .wait: "wait"
            case .refuse: "refuse"
            }
        }
        #expect(outcome(queue.submitted(1)) == "run 1")
        #expect(outcome(queue.submitted(2)) == "run 2")
        #expect(outcome(queue.submitted(3)) == "wait")
        #expect(outcome(queue.submitted(4)) == "refuse")
        #expect(queue.ended() == 3)
        #expect(queue.ended() == nil)
        #expect(outcome(queue.submitted(5)) == "run 5")
        #expect(queue.ended() == nil)
        #expect(queue.ended() == nil)
        #expect(outcome(queue.submitted(6)) == "run 6")
    }
}
