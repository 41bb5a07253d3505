import Foundation
import MessageBus
import ParseProtocol
import Synchronization
import Testing
import UsersService

/// Password hashing: the stored form, and the number of concurrent hashes.
@Suite struct UsersPasswordTests {
    static let cost = ScryptCost(parallelism: 1)

    private final class Count: Sendable {
        private let count = Atomic(0)

        var value: Int { count.load(ordering: .relaxed) }

        func increment() { count.add(1, ordering: .relaxed) }
    }

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

    /// Stored hashes remain valid: another library made this one.
    @Test func aHashThatWasStoredBeforeMatches() throws {
        let text = "$scrypt$ln=14,r=8,p=2$AAECAwQFBgcICQoLDA0ODw$oKcp9IX4je0hywMP4cCpcXqSskw4yX1IByH017xEofo"
        #expect(try PasswordHash(phc: text)?.matches("an old password") == true)
        #expect(try PasswordHash(phc: text)?.matches("an old passwore") == false)
        #expect(PasswordHash(phc: text)?.phc == text)
    }

    @Test func verifyingAgainstNobodyIsAlwaysWrong() async throws {
        let hasher = PasswordHasher(cost: Self.cost)
        let client = HashingClient("network:7f000001")
        #expect(try await !hasher.verify("secret", against: nil, for: client, charging: nil))
        #expect(try await !hasher.verify("secret", against: "damaged", for: client, charging: nil))
        let hash = try await hasher.hash("secret", for: client, charging: nil)
        #expect(try await hasher.verify("secret", against: hash, for: client, charging: nil))
    }

    /// Id T4d of docs/internals/hardening.md: unknown clients that sign up and sign in occupy no more than their number
    /// of threads.
    @Test func aKnownDeviceHasAThreadBesideEveryRush() async throws {
        var isBeforeTheEnd = false
        // Other tests of this process may delay the answer's way back until the rushes have ended.
        for _ in 0..<5 where !isBeforeTheEnd { isBeforeTheEnd = try await Self.isAnsweredBeforeTheEndOfARush() }
        #expect(isBeforeTheEnd)
    }

    private static func isAnsweredBeforeTheEndOfARush() async throws -> Bool {
        let processors = ProcessInfo.processInfo.activeProcessorCount
        let hashers = PasswordHashers(cost: cost, threads: processors)
        let ended = Count()
        let count = 20 * processors
        return try await withThrowingTaskGroup(of: Void.self) { group in
            // On a busy machine some of them are refused with a retry time.
            for number in 0..<count {
                let stranger = HashingClient("network:\(number)")
                group.addTask {
                    _ = try? await hashers.signIns.verify("wrong", against: nil, for: stranger, charging: nil)
                    ended.increment()
                }
                group.addTask {
                    _ = try? await hashers.newPasswords.hash("new", for: stranger, charging: nil)
                    ended.increment()
                }
            }
            // Both rushes have started.
            while ended.value < 2 { await Task.yield() }
            let known = HashingClient("device:ann:phone", isKnown: true)
            let isRight = try await hashers.signIns.verify("wrong", against: nil, for: known, charging: nil)
            #expect(!isRight)
            let isBeforeTheEnd = ended.value < count
            try await group.waitForAll()
            return isBeforeTheEnd
        }
    }

    /// Id T2h of docs/internals/hardening.md.
    @Test func aHashIsOnTheAccountOfItsRequest() async throws {
        let hasher = PasswordHasher(cost: Self.cost)
        let client = HashingClient("network:7f000001")
        // Hardly more than the part of the budget reserved for the end of a request.
        let budget = RequestBudget(microseconds: 26_000)
        let isRight = try await hasher.verify("secret", against: nil, for: client, charging: budget)
        #expect(!isRight, "The first is always done.")
        #expect(budget.used == 1_000)
        #expect(!budget.isSpent)
        await #expect(throws: ParseError(.timeout, "The request took too much processor time.")) {
            try await hasher.verify("secret", against: nil, for: client, charging: budget)
        }
        await #expect(throws: ParseError.self) { try await hasher.hash("secret", for: client, charging: budget) }
        let counting = RequestBudget(microseconds: nil)
        let hash = try await hasher.hash("s", for: client, charging: counting)
        #expect(counting.used > 1_000, "The operator's are counted and never refused.")
        let former = try #require(hash)
        #expect(try await hasher.hash("s", unlessAmong: [former], for: client, charging: nil) == nil)
        #expect(try await hasher.hash("t", unlessAmong: [former], for: client, charging: nil) != nil)
    }
}
