import ParseProtocol
import SuiteClient

/// Clients that request much data and hardly read, so that the answers remain in the server's memory.
struct SlowReaderAttack: Attack {
    let name = "slow-readers"
    let kind = "memory"
    let summary = "answers of 32 MB that each connection reads at 1 KB a second"
    let connections = 100

    func prepare(_ master: Master) async throws { try await Posters.prepare(master) }

    func run(_ attackers: Attackers, until end: ContinuousClock.Instant) async {
        let request = Request(path: "/classes/Poster", query: ["limit": 1000]).bytes(for: attackers.target)
        await attackers.each { index in
            while ContinuousClock.now < end {
                do {
                    let link = try await attackers.open(index, pace: .slow)
                    async let answer: Void = attackers.exchange(over: link, request, until: end)
                    while link.isOpen, ContinuousClock.now < end {
                        link.read()
                        try? await Task.sleep(until: min(end, .now + .seconds(1)), clock: .continuous)
                    }
                    link.close()
                    try await answer
                } catch {
                    await attackers.missed(error, until: end)
                }
            }
        }
    }
}
