import Foundation
import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit
import VirtualThread

/// A call until its first answer.
final class PendingCall: @unchecked Sendable {
    private var answer: (@Sendable (Result<BusReply, BusFailure>) -> Void)?

    init(_ answer: @escaping @Sendable (Result<BusReply, BusFailure>) -> Void) { self.answer = answer }

    func end(_ result: Result<BusReply, BusFailure>) {
        let answer = answer
        self.answer = nil
        answer?(result)
    }
}

/// The processes of one seed, the network between them, and its faults. Only the virtual thread uses it.
final class World: @unchecked Sendable {
    let bench: Bench
    let thread: VirtualThread
    let weather: Weather
    let plant: Plant?
    let seed: UInt64
    let hasTwoBags: Bool
    let paysByStripe: Bool
    /// The customers leave with the first receipt or refusal, so that the history is about one checkout.
    let isBrief: Bool
    let stripe = SimulatedStripe()
    private(set) var history: [String] = []
    private let keepsHistory: Bool
    /// Latencies and choices.
    var random: SplitMix64
    var findings: [String] = []
    var isDone = false
    private var processes: [SimulatedProcess] = []
    private var starts = 0
    /// The replica of bag that leads if it is alive.
    private var firstBag = 0
    private var isEnding = false
    /// Mails that the server accepted, by their names.
    var mails: [String: Int] = [:]
    /// Refunds that the provider refuses, by their keys.
    private var refunds: [String: Bool] = [:]
    /// Keys of messages that `Plant.outboxOutsideTransaction` has written.
    var writtenMessages: Set<String> = []

    init(_ bench: Bench, _ thread: VirtualThread, seed: UInt64, _ options: Options) {
        self.bench = bench
        self.thread = thread
        self.seed = seed
        plant = options.plant
        keepsHistory = options.keepsHistory
        var random = SplitMix64(seed ^ 0x776F_726C_64)
        hasTwoBags = random.chance(25)
        paysByStripe = random.chance(50)
        isBrief = random.chance(50)
        self.random = random
        weather = Weather(seed: seed, allowed: options.allowed) { [unowned thread] in thread.elapsed / 1_000_000 }
        bench.remote?.thread = thread
        stripe.world = self
    }

    /// Adds a line to the history.
    func note(_ text: @autoclosure () -> String) {
        guard keepsHistory else { return }
        let milliseconds = thread.elapsed / 1_000_000
        history.append("\(String(repeating: " ", count: max(0, 7 - "\(milliseconds)".count)))\(milliseconds) \(text())")
    }

    // MARK: Time

    func latency(_ milliseconds: ClosedRange<Double>) -> Double {
        let part = Double(random.below(1_000_000)) / 1_000_000
        return milliseconds.lowerBound + (milliseconds.upperBound - milliseconds.lowerBound) * part
    }

    /// The time at which a process can do something, in nanoseconds since the start.
    func due(after milliseconds: Double, for process: SimulatedProcess?) -> UInt64 {
        max(thread.elapsed + UInt64(milliseconds * 1_000_000), process?.stalledUntil ?? 0)
    }

    func at(_ time: UInt64, _ body: @escaping () -> Void) {
        thread.after(milliseconds: Double(max(time, thread.elapsed) - thread.elapsed) / 1_000_000, body)
    }

    func pause(_ milliseconds: Double) async {
        try? await Task.sleep(for: .microseconds(Int64(milliseconds * 1000)))
    }

    // MARK: Processes

    func startAll() {
        for service in bench.services { start(service, replica: 0) }
        if hasTwoBags { start("bag", replica: 1) }
    }

    private func start(_ service: String, replica: Int) {
        guard !isEnding else { return }
        starts += 1
        do {
            let process = try SimulatedProcess(self, service, replica: replica, number: starts)
            processes.append(process)
            note("\(process.name) starts")
        } catch {
            findings.append("\(service) does not start: \(error)")
        }
    }

    var alive: [SimulatedProcess] { processes.filter(\.isAlive) }

    func leader(of service: String) -> SimulatedProcess? {
        let own = processes.filter { $0.isAlive && $0.service == service }
        return own.first { $0.replica == firstBag } ?? own.first
    }

    func changeLeader() {
        firstBag = 1 - firstBag
        note("bag-\(firstBag) leads")
    }

    func crash(_ process: SimulatedProcess, _ place: String) {
        guard process.isAlive else { return }
        note("\(process.name) ends \(place)")
        // The gateway sends what the process has not answered to another one, if that is safe.
        for (request, call) in process.end() {
            if Self.isRepeatable(request) {
                deliver(repeated(request), call, after: latency(1...50))
            } else {
                call.end(.failure(.outcomeUnknown))
            }
        }
        at(due(after: latency(20...1500), for: nil)) { [self] in start(process.service, replica: process.replica) }
    }

    func stall(_ process: SimulatedProcess) {
        let milliseconds = latency(100...8000)
        note("\(process.name) stands still for \(Int(milliseconds)) ms")
        process.stalledUntil = due(after: milliseconds, for: nil)
    }

    /// Ends all processes for good.
    func end() {
        isEnding = true
        weather.isOver = true
        for process in alive { _ = process.end() }
    }

    func forget() {
        for process in processes { process.forget() }
        processes = []
    }

    // MARK: The network

    private static func isRepeatable(_ request: BusMessage) -> Bool {
        !request.envelope.writes || !request.envelope.idempotencyKey.isEmpty
    }

    /// Carries a call.
    /// - Parameter sender: nil for the gateway.
    func carry(
        _ request: BusMessage, from sender: SimulatedProcess?,
        _ answer: @escaping @Sendable (Result<BusReply, BusFailure>) -> Void
    ) {
        let call = PendingCall(answer)
        guard sender?.isAlive ?? true else {
            return at(due(after: 1, for: nil)) { call.end(.failure(.unavailable("The process has ended."))) }
        }
        let left = Double(max(1, request.envelope.deadline - BusClock.now))
        thread.after(milliseconds: left) { call.end(.failure(.timedOut)) }
        let kind = request.envelope.kind
        if let sender, weather.strikes(.crash) { return crash(sender, "as it sends \(kind)") }
        guard !weather.strikes(.lostRequest) else { return note("\(kind) is lost") }
        let isSlow = weather.strikes(.slowRequest)
        let path = due(after: isSlow ? latency(20...9000) : latency(0.1...2), for: sender) - thread.elapsed
        deliver(request, call, after: Double(path) / 1_000_000)
        if Self.isRepeatable(request), weather.strikes(.doubledRequest) {
            note("\(kind) is doubled")
            deliver(repeated(request), call, after: latency(0.1...3000))
        }
    }

    private func deliver(_ request: BusMessage, _ call: PendingCall, after milliseconds: Double) {
        thread.after(milliseconds: milliseconds) { [self] in
            guard !isEnding, request.envelope.deadline > BusClock.now else { return }
            let service = String(request.envelope.destination)
            guard bench.databases[service] != nil else {
                return thread.after(milliseconds: latency(0.1...2)) { call.end(Self.stub(request)) }
            }
            guard let process = receiver(of: request, service) else { return deliver(request, call, after: 50) }
            let time = due(after: 0, for: process)
            guard time <= thread.elapsed else {
                return deliver(request, call, after: Double(time - thread.elapsed) / 1_000_000)
            }
            if weather.strikes(.crash) {
                crash(process, "as \(request.envelope.kind) arrives")
                return deliver(request, call, after: 50)
            }
            note("\(process.name) < \(request.envelope.kind) \(request.envelope.idempotencyKey)")
            process.receive(request, call)
        }
    }

    private func receiver(of request: BusMessage, _ service: String) -> SimulatedProcess? {
        let anyWill = !request.envelope.writes || request.envelope.shared
        guard anyWill, service == "bag", hasTwoBags else { return leader(of: service) }
        let own = processes.filter { $0.isAlive && $0.service == service }
        return own.isEmpty ? nil : own[random.below(own.count)]
    }

    /// A process answers.
    func reply(
        _ result: Result<BusReply, BusFailure>, to request: BusMessage, _ call: PendingCall,
        from process: SimulatedProcess
    ) {
        let kind = request.envelope.kind
        if case .failure(let failure) = result { note("\(process.name) > \(kind) fails: \(failure)") }
        if weather.strikes(.crash) { return crash(process, "as it answers \(kind)") }
        guard !weather.strikes(.lostReply) else { return note("the reply to \(kind) is lost") }
        if plant == .chargeBeforeReservation, kind == CatalogCalls.reserve.kind, case .success(let reply) = result {
            chargeTooEarly(request, reply)
        }
        at(due(after: latency(0.1...2), for: process)) { call.end(result) }
    }

    /// The answers of services that are not simulated.
    private static func stub(_ request: BusMessage) -> Result<BusReply, BusFailure> {
        let service = String(request.envelope.destination)
        do {
            switch request.envelope.kind {
            case UsersCalls.contact.kind:
                let contact = ContactReply.with {
                    $0.email = "ann@shop.example"
                    $0.emailVerified = true
                }
                return .success(try BusReply(contact))
            case DeliveryCalls(to: service).deliver.kind:
                let count = try DeliverRequest(serializedBytes: request.body).messages.count
                return .success(
                    try BusReply(DeliverReply.with { $0.outcomes = Array(repeating: .init(), count: count) }))
            case ObjectCalls(of: service).fetch.kind: return .success(try BusReply(FetchReply()))
            default: return .success(try BusReply(Accepted()))
            }
        } catch {
            return .failure(.unknown(kind: request.envelope.kind))
        }
    }

    // MARK: The provider

    /// Whether the provider refuses a refund. Undoing a charge always works: else an operator would have to act.
    func refuses(_ key: String) -> Bool {
        if let known = refunds[key] { return known }
        let refuses = !key.contains(":undo") && weather.strikes(.refundRefused)
        refunds[key] = refuses
        return refuses
    }

    // MARK: Plants

    private func repeated(_ request: BusMessage) -> BusMessage {
        guard plant == .replayUnderAnotherKey, !request.envelope.idempotencyKey.isEmpty else { return request }
        var other = request
        other.envelope.idempotencyKey += "~"
        let kind = DeliveryCalls(to: String(request.envelope.destination)).deliver.kind
        if request.envelope.kind == kind, var parcel = try? DeliverRequest(serializedBytes: request.body) {
            for place in parcel.messages.indices { parcel.messages[place].key += "~" }
            other.body = (try? parcel.serializedBytes()) ?? request.body
        }
        return other
    }

    private func chargeTooEarly(_ request: BusMessage, _ reply: BusReply) {
        guard let wanted = try? ReserveRequest(serializedBytes: request.body),
            let priced = try? ReserveReply(serializedBytes: reply.body),
            let row = try? bench.databases["bag"]?.rows(
                "SELECT orderId, customerId, source FROM checkouts WHERE id = ? AND state = 'started'",
                [.text(wanted.reservationID)]
            ).first,
            let token = try? JSON(parsing: row.text("source"))["token"]?.stringValue
        else { return }
        let charge = ChargeRequest.with {
            $0.operationID = wanted.reservationID
            $0.orderID = (try? row.text("orderId")) ?? ""
            $0.userID = (try? row.text("customerId")) ?? ""
            $0.amountMinorUnits = priced.lines.reduce(0) { $0 + Int64($1.quantity) * $1.unitPriceMinorUnits }
            $0.currency = priced.currency
            $0.token = token
        }
        guard var early = try? BusRequest(PaymentsCalls.charge, charge) else { return }
        early.principal = .satchel
        early.writes = true
        early.idempotencyKey = "\(wanted.reservationID):charge"
        carry(BusMessage(envelope: early.envelope, body: early.body), from: nil) { _ in }
    }
}
