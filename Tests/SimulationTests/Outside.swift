import Logging
import MailService
import ObjectStore
import ParseProtocol
import PaymentsService
import VirtualThread

/// The payment provider's own side: the tables of the sandbox, which no process of the shop writes.
final class Remote: MemoryStage, @unchecked Sendable {
    let database: MemoryDatabase
    var thread: VirtualThread?
    private var store: ClassStore?

    init(_ bench: Bench) throws {
        guard let database = bench.databases["payments"] else { throw ParseError.internalError }
        self.database = database
        store = try bench.store(of: "payments", on: self).store
    }

    var provider: SandboxProvider {
        get throws {
            guard let store else { throw ParseError.internalError }
            return SandboxProvider(store: store)
        }
    }

    var leads: Bool { true }
    func run(isWrite: Bool, _ work: @escaping () -> Void) { thread?.after(milliseconds: 0.05, work) }
    func commits() {}
    func committed() {}
}

/// The provider as a process of payments reaches it.
struct SimulatedProvider: PaymentProvider {
    let process: SimulatedProcess
    let remote: SandboxProvider

    func createCustomer(
        token: String, email: String?, key: String, for share: WorkShare?
    ) async throws -> ProviderCustomer {
        try await ask { try await remote.createCustomer(token: token, email: email, key: key, for: nil) }
    }

    func deleteCustomer(_ id: String, for share: WorkShare?) async throws {
        try await ask { try await remote.deleteCustomer(id, for: nil) }
    }

    func charge(_ order: ChargeOrder, key: String, for share: WorkShare?) async throws -> ProviderCharge {
        try await ask { try await remote.charge(order, key: key, for: nil) }
    }

    func findCharge(_ order: ChargeOrder, key: String, for share: WorkShare?) async throws -> ProviderCharge? {
        try await ask { try await remote.findCharge(order, key: key, for: nil) }
    }

    func refund(_ order: RefundOrder, key: String, for share: WorkShare?) async throws -> ProviderRefund {
        guard !process.world.refuses(key) else {
            throw ProviderFailure(
                type: "invalid_request_error", code: "charge_disputed", message: "The charge is disputed.")
        }
        return try await ask { try await remote.refund(order, key: key, for: nil) }
    }

    private func ask<Answer: Sendable>(
        _ work: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer {
        try await process.acrossTheInternet(work)
    }
}

extension SimulatedProcess {
    struct NoAnswer: Error {}

    /// Asks the provider. Its answer may be late or lost.
    func acrossTheInternet<Answer: Sendable>(
        _ work: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer {
        let world = world
        guard isAlive else { throw Self.gone }
        if world.weather.strikes(.providerLost) {
            world.note("the provider does not hear")
            await world.pause(world.latency(500...5000))
            throw NoAnswer()
        }
        if world.weather.strikes(.providerLate) {
            world.note("the provider is late")
            let delay = world.latency(1000...20_000)
            Task {
                await world.pause(delay)
                _ = try? await work()
            }
            await world.pause(world.latency(500...5000))
            throw NoAnswer()
        }
        await world.pause(world.weather.strikes(.providerSlow) ? world.latency(1000...15_000) : world.latency(5...80))
        let answer: Result<Answer, any Error>
        do {
            answer = .success(try await work())
        } catch {
            answer = .failure(error)
        }
        guard !world.weather.strikes(.providerReplyLost) else {
            world.note("the provider's answer is lost")
            throw NoAnswer()
        }
        return try answer.get()
    }
}

/// A mail server that accepts all mails, sooner or later.
struct SimulatedTransport: MailTransport {
    let process: SimulatedProcess

    func send(_ message: MailMessage, name: String) async throws(MailProblem) {
        let world = process.world
        await world.pause(world.latency(5...50))
        guard process.isAlive, !world.weather.strikes(.mailRefused) else {
            throw MailProblem(.temporary, "The server is busy.")
        }
        world.mails[name, default: 0] += 1
        world.note("mail \(name)")
        if world.weather.strikes(.mailReplyLost) { throw MailProblem(.temporary, "No answer.") }
    }
}
