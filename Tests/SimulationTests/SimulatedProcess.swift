import BagService
import CatalogService
import MailService
import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import PaymentsService
import ServiceKit

/// A process of a service, from its start to its end. Its memory ends with it; the database remains.
final class SimulatedProcess: MemoryStage, @unchecked Sendable {
    let world: World
    let service: String
    let replica: Int
    let name: String
    let database: MemoryDatabase
    private(set) var isAlive = true
    /// Until then, in nanoseconds since the start, the process does nothing.
    var stalledUntil: UInt64 = 0
    private(set) var host: ServiceHost?
    private var handler: RouteHandler?
    private var stops: [@Sendable () async -> Void] = []
    /// Requests without a reply, by their number.
    private var pending: [Int: (request: BusMessage, call: PendingCall)] = [:]
    private var lastRequest = 0
    private var lastJobAt: UInt64 = 0
    /// Outbox rows that are kept back (`Plant.outboxOutsideTransaction`).
    private var heldRows: [SQLRow] = []

    /// What a process that has ended gets from its database and its network.
    static let gone = ParseError(.serviceUnavailable, "The process has ended.")

    init(_ world: World, _ service: String, replica: Int, number: Int) throws {
        self.world = world
        self.service = service
        self.replica = replica
        name = "\(service)-\(replica).\(number)"
        guard let database = world.bench.databases[service] else { throw Self.gone }
        self.database = database
        let (plan, store) = try world.bench.store(of: service, on: self)
        let host = try ServiceHost(
            plan: plan, configuration: world.bench.configuration(of: service), store: store, quotas: .unlimited,
            writers: service == "bag" && world.hasTwoBags ? .every : .one,
            carrier: { [self] in world.carry($0, from: self, $1) }, logger: Bench.logger)
        let routes = try ServiceRoutes(host: host) { try build($0, &$1) }
        handler = RouteHandler(routes: routes, reader: try store.makeReader(), load: RunningRequests())
        self.host = host
        host.startInSimulation(without: world.bench.bags.isEmpty ? [] : Bench.idleWorks)
    }

    private func build(_ host: ServiceHost, _ routes: inout ServiceRoutes) throws {
        switch service {
        case "bag": try buildBag(host, &routes, .standard, keepsMark: false)
        case "payments":
            guard let remote = world.bench.remote else { throw Self.gone }
            let provider: any PaymentProvider =
                world.paysByStripe
                ? try world.stripe.provider(for: self, host)
                : SimulatedProvider(process: self, remote: try remote.provider)
            try buildPayments(host, &routes, simulated: (provider, SimulatedStripe.webhookSecret))
        case "catalog": buildStock(host, &routes)
        default: buildMailQueue(host, &routes)
        }
    }

    /// The part of `buildCatalog` that belongs to orders.
    private func buildStock(_ host: ServiceHost, _ routes: inout ServiceRoutes) {
        let reservations = Reservations(currency: .standard, logger: host.logger)
        routes.read(framed: CatalogCalls.price) { message, request, reader in
            try PriceList(currency: .standard).price(message, caller: request.caller, in: reader)
        }
        routes.write(CatalogCalls.reserve, keyed: false) { message, request, transaction in
            try reservations.reserve(message, caller: request.caller, in: transaction)
        }
        routes.write(CatalogCalls.commitReservation, keyed: false) { message, _, transaction in
            try reservations.commit(message.reservationID, in: transaction)
            return CommitReservationReply()
        }
        routes.write(CatalogCalls.releaseReservation, keyed: false) { message, _, transaction in
            try reservations.release(message.reservationID, in: transaction)
            return ReleaseReservationReply()
        }
        routes.accept(CatalogCalls.restock) { message, _, transaction in
            try Restocks.add(message, in: transaction)
        }
        host.whenWriter("house", every: .seconds(3), problem: "Reservations could not expire.") {
            try await host.store.write(for: nil) { try reservations.expire(in: $0) } ? .more : .idle
        }
    }

    /// `buildMail` with a simulated transport and without quotas.
    private func buildMailQueue(_ host: ServiceHost, _ routes: inout ServiceRoutes) {
        let sender = MailSender(
            queue: MailQueue(store: host.store), composer: world.bench.composer,
            transport: SimulatedTransport(process: self),
            settings: .init(
                schedule: RetrySchedule(first: .seconds(1), longest: .seconds(5), giveUpAfter: .seconds(86_400)),
                connections: 4, perDomain: 4),
            background: host.background, logger: host.logger)
        routes.accept(MailCalls.send) { message, request, transaction in
            try MailQueue.add(message, key: request.envelope.idempotencyKey, in: transaction)
            transaction.afterCommit { sender.wake() }
        }
        host.whenWriting(sender.work)
        stops.append { await sender.stop(within: .zero) }
    }

    // MARK: The end

    /// Ends the process without a word. Its tasks end too, because they get nothing from outside any more.
    /// - Returns: the requests without a reply, in the order of their arrival.
    func end() -> [(request: BusMessage, call: PendingCall)] {
        isAlive = false
        let (stops, host) = (stops, host)
        Task {
            for stop in stops { await stop() }
            await host?.background.stop(within: .zero)
        }
        defer { pending = [:] }
        return pending.sorted { $0.key < $1.key }.map(\.value)
    }

    /// Breaks the cycles of references, once no task runs.
    func forget() {
        host = nil
        handler = nil
        stops = []
        pending = [:]
    }

    // MARK: Requests

    func receive(_ request: BusMessage, _ call: PendingCall) {
        lastRequest += 1
        let number = lastRequest
        pending[number] = (request, call)
        handler?.handle(
            ServiceRequest(request) { [self] result in
                guard isAlive, pending.removeValue(forKey: number) != nil else { return }
                world.reply(result, to: request, call, from: self)
            })
        handler?.batchEnded()
    }

    // MARK: MemoryStage

    var leads: Bool { world.leader(of: service) === self }

    func run(isWrite: Bool, _ work: @escaping () -> Void) {
        if isAlive, world.weather.strikes(.crash) { world.crash(self, "at its database") }
        let time = world.due(after: world.latency(0.02...0.5), for: self)
        // The writer takes jobs in their order.
        if isWrite { lastJobAt = max(lastJobAt, time) }
        world.at(isWrite ? lastJobAt : time, work)
    }

    func commits() throws {
        guard isAlive else { throw Self.gone }
        if world.plant == .outboxOutsideTransaction, service == "bag" { try holdRows() }
        if world.weather.strikes(.crashBeforeCommit) {
            heldRows = []
            world.crash(self, "before a commit")
            throw Self.gone
        }
    }

    func committed() throws {
        if world.weather.strikes(.crashAfterCommit) {
            world.crash(self, "after a commit")
            throw Self.gone
        }
        guard !heldRows.isEmpty else { return }
        let rows = heldRows
        heldRows = []
        world.at(world.due(after: 5, for: self)) { [self] in
            guard isAlive else { return }
            for row in rows {
                guard let key = try? row.text("key") else { continue }
                world.writtenMessages.insert(key)
                _ = try? database.rows(
                    "INSERT INTO outbox(key, kind, body, dueAt) VALUES (?, ?, ?, ?) ON CONFLICT(key) DO NOTHING",
                    [row["key"], row["kind"], row["body"], row["dueAt"]])
            }
        }
    }

    private func holdRows() throws {
        heldRows = try database.rows("SELECT id, key, kind, body, dueAt FROM outbox").filter {
            !world.writtenMessages.contains(try $0.text("key"))
        }
        for row in heldRows { _ = try database.rows("DELETE FROM outbox WHERE id = ?", [row["id"]]) }
    }
}
