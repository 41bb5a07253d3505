import Foundation
import NIOPosix
import ParseProtocol
import SuiteClient

/// Compares the times of wrong passwords: whether they tell accounts that still have the old server's hash from
/// unused names and from other accounts.
struct MovedAccounts {
    let target: Target
    /// Wrong passwords lock an account for a while after five from one address, and after 20 in all.
    let names: (moved: [String], own: [String])

    private static let accounts = 40
    private static let pairsMax = 100
    /// bcrypt with the cost that Parse Server uses.
    private static let hash = "$2y$10$ZdWvWiqsmBM8Wjlewy1zrOzUvD7qx2T99f6S7LZKeojhPA2gqHlTK"

    /// Creates the accounts.
    init(_ target: Target) async throws {
        self.target = target
        let mark = String(UUID().uuidString.prefix(8)).lowercased()
        let moved = (0..<Self.accounts).map { "moved\(mark)\($0)" }, own = (0..<Self.accounts).map { "own\(mark)\($0)" }
        names = (moved, own)
        let master = try await Master(target, on: MultiThreadedEventLoopGroup.singleton)
        let rows = moved.map { name -> JSON in
            ["objectId": .string(name), "username": .string(name), "_hashed_password": .string(Self.hash)]
        }
        let answer = try await master.send(.post("/import/_User", .array(rows)))
        guard answer["failed"] == 0 else { throw AttackError("import: \(answer.serializedText.prefix(300))") }
        for name in own {
            try await master.send(.post("/users", ["username": .string(name), "password": "a right password"]))
        }
    }

    /// - Parameter requests: for both comparisons.
    func rows(requests: Int) async throws -> [SecretsRow] {
        let pairs = min(Self.pairsMax, max(10, requests / 4))
        var unknown = names.own.map { "no\($0)" }
        unknown.shuffle()
        return [
            try await compare("sign-in, moved or unknown", unknown, pairs: pairs, from: 0),
            try await compare("sign-in, moved or own", names.own, pairs: pairs, from: pairs),
        ]
    }

    private func compare(_ name: String, _ others: [String], pairs: Int, from first: Int) async throws -> SecretsRow {
        var findings = Interrogation.Findings()
        var statuses: [Int: Int] = [:]
        // The first pair only warms up.
        for pair in 0...pairs {
            let link = try await Link.open(
                target, from: "127.0.0.\(2 + (first + pair) % 250)", on: MultiThreadedEventLoopGroup.singleton,
                bodyBytesKept: 4096)
            let account = pair % Self.accounts
            for (isMoved, user) in [(true, names.moved[account]), (false, others[account])].shuffled() {
                let request = Request.post("/login", ["username": .string(user), "password": "a wrong password"])
                let start = ContinuousClock.now
                let answer = try await link.send(request.bytes(for: target), timeout: .seconds(30))
                let time = (ContinuousClock.now - start) / .milliseconds(1)
                guard pair > 0 else { continue }
                statuses[answer.status, default: 0] += 1
                if isMoved {
                    findings.hits.append(time)
                    findings.hitAnswers.insert("\(answer.status) \(answer.text)")
                } else {
                    findings.misses.append(time)
                    findings.missAnswers.insert("\(answer.status) \(answer.text)")
                }
            }
            link.close()
        }
        let probe = Probe(name: name, secrets: [], known: 0, alphabet: ["0"], guess: .whole) { _ in Request(path: "/") }
        return SecretsRow(probe, findings, statuses: statuses)
    }
}
