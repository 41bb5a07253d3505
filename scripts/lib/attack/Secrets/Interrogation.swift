import NIOPosix
import ParseProtocol
import SuiteClient

/// Sends a probe's requests one at a time, in random order, and records the answers.
struct Interrogation {
    let probe: Probe
    let target: Target

    private var link: Link?
    private var asked = 0
    private(set) var statuses: [Int: Int] = [:]

    /// After this many requests the client reconnects from another address, because requests per address are limited.
    private static let requestsPerLink = 50
    private static let timeout = Duration.seconds(30)

    init(_ probe: Probe, _ target: Target) { (self.probe, self.target) = (probe, target) }

    struct Findings {
        /// In milliseconds.
        var hits: [Double] = []
        var misses: [Double] = []
        /// The different answers, without timestamps.
        var hitAnswers: Set<String> = []
        var missAnswers: Set<String> = []
        var learnt = 0
        var places = 0
    }

    /// - Parameter requests: the total number.
    mutating func run(requests: Int) async throws -> Findings {
        var findings = Findings()
        _ = try await ask(wrongGuess(at: probe.places.lowerBound, of: probe.secrets[0]))  // Warms up.
        let candidates = probe.alphabet.count
        let pairs = max(10, requests * 3 / 10)
        for _ in 0..<pairs {
            let secret = probe.compared.randomElement() ?? "", place = probe.places.randomElement() ?? 0
            let right = probe.guess(Array(secret)[place], at: place, of: secret)
            let questions = [(true, right), (false, wrongGuess(at: place, of: secret))].shuffled()
            for (isHit, guess) in questions {
                let (milliseconds, answer) = try await ask(guess)
                if isHit {
                    findings.hits.append(milliseconds)
                    findings.hitAnswers.insert(answer)
                } else {
                    findings.misses.append(milliseconds)
                    findings.missAnswers.insert(answer)
                }
            }
        }
        let left = requests - 2 * pairs
        let rounds = max(1, min(5, left / candidates / 4)),
            places = min(max(1, left / candidates / rounds), probe.places.count)
        let hitsAreSlower = RankStatistic(hits: findings.hits, misses: findings.misses).area >= 0.5
        for place in probe.places.prefix(places) {
            findings.places += 1
            if try await learn(place, rounds: rounds, hitsAreSlower: hitsAreSlower) { findings.learnt += 1 }
        }
        link?.close()
        return findings
    }

    /// Guesses the character at one place as an attacker would: picks the one whose times lie furthest in the direction
    /// of correct guesses. The characters before the place are known.
    private mutating func learn(_ place: Int, rounds: Int, hitsAreSlower: Bool) async throws -> Bool {
        let secret = probe.learnt[place % probe.learnt.count]
        var times: [Character: [Double]] = [:]
        for character in (0..<rounds).flatMap({ _ in probe.alphabet.shuffled() }) {
            times[character, default: []].append(
                try await ask(probe.guess(character, at: place, of: secret)).milliseconds)
        }
        let sign = hitsAreSlower ? 1.0 : -1.0
        return times.max { sign * $0.value.median < sign * $1.value.median }?.key == Array(secret)[place]
    }

    /// A wrong guess, always the same for a secret and place (for a secret, if guesses are whole). New requests are
    /// slower than repeated ones, so wrong guesses must be repeated as often as correct ones.
    private func wrongGuess(at place: Int, of secret: String) -> String {
        let place = probe.guess == .whole ? probe.places.upperBound - 1 : place
        let right = probe.alphabet.firstIndex(of: Array(secret)[place]) ?? 0
        return probe.guess(probe.alphabet[(right + 1) % probe.alphabet.count], at: place, of: secret)
    }

    private mutating func ask(_ guess: String) async throws -> (milliseconds: Double, answer: String) {
        if asked % Self.requestsPerLink == 0 || link?.isOpen != true {
            link?.close()
            link = try await Link.open(
                target, from: "127.0.0.\(2 + asked / Self.requestsPerLink % 250)",
                on: MultiThreadedEventLoopGroup.singleton,
                bodyBytesKept: 4096)
        }
        asked += 1
        guard let link else { throw AttackError("There is no connection.") }
        let bytes = probe.request(guess).bytes(for: target)
        let start = ContinuousClock.now
        let answer = try await link.send(bytes, timeout: Self.timeout)
        let time = (ContinuousClock.now - start) / .milliseconds(1)
        statuses[answer.status, default: 0] += 1
        return (time, "\(answer.status) \(answer.text)")
    }
}
