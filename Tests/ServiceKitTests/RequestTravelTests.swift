import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit
import ServiceSupport
import Testing

/// A request's principal and budget, which are passed from service to service.
@Suite(.serialized, .timeLimit(.minutes(10))) struct RequestTravelTests {
    private static let who = Call<Accepted, Principal>("till.who.v1")
    private static let work = Call<Accepted, UserDeleted>("till.work.v1")

    /// `shop` calls `till`, which answers with the principal that it received.
    private func withServices(_ body: (BusBench, ServiceHost) async throws -> Void) async throws {
        try await BusBench.with { bench in
            try await bench.start(ServicePlan(name: "till")) { _, routes in
                routes.read(Self.who) { _, request, _ in request.envelope.principal }
                routes.task(Self.work) { _, request in
                    request.budget.use(300_000)
                    return UserDeleted.with { $0.deletedAt = request.budget.left }
                }
            }
            let tables = Migration(1, "tables", ["CREATE TABLE marks(user TEXT)"])
            let shop = try await bench.start(ServicePlan(name: "shop", migrations: [tables])) { host, routes in
                Self.install(host, in: &routes)
            }
            try await body(bench, shop)
        }
    }

    private static func install(_ host: ServiceHost, in routes: inout ServiceRoutes) {
        routes.task(Call<UserDeleted, Principal>("shop.relay.v1")) { message, request in
            if message.userID == "itself" { return try await host.call(Self.who, Accepted(), for: request) }
            return try await host.call(Self.who, Accepted(), for: request, as: request.envelope.principal)
        }
        routes.task(Call<Accepted, UserDeleted>("shop.work.v1")) { _, request in
            try await host.call(Self.work, Accepted(), for: request)
        }
        routes.read(Call<Accepted, UserDeleted>("shop.ponder.v1")) { _, _, reader in
            let million = try reader.ponder()
            return UserDeleted.with { $0.deletedAt = million }
        }
        // Its work ends when twice its budget has passed, on any machine.
        routes.accept(Call<Accepted, Accepted>("shop.mark.v1")) { _, _, transaction in
            _ = try transaction.execute("INSERT INTO marks(user) VALUES ('ann')")
            let end = ContinuousClock.now + .milliseconds(10)
            while ContinuousClock.now < end {}
            try transaction.requireBudget()
        }
    }

    // MARK: The principal

    static let principals: [Principal] = [
        .satchel, Principal(),
        .with {
            $0.userID = "ann"
            $0.roles = ["admins", "buyers"]
            $0.installationID = "phone"
            $0.sessionToken = "r:1"
            $0.anonymous = true
            $0.restricted = true
            $0.network = "7f000001"
        },
        .with {
            $0.master = true
            $0.readOnly = true
            $0.maintenance = true
        },
    ]

    @Test(arguments: principals) func thePrincipalTravelsFromServiceToService(principal: Principal) async throws {
        try await withServices { bench, _ in
            let reply = try await bench.ask("shop.relay.v1", UserDeleted(), as: principal)
            #expect(try Principal(serializedBytes: reply.body) == principal)
        }
    }

    @Test func aServiceThatAsksForItselfIsSatchel() async throws {
        try await withServices { bench, _ in
            let reply = try await bench.ask("shop.relay.v1", deletion(of: "itself"), as: .user("ann"))
            #expect(try Principal(serializedBytes: reply.body) == .satchel)
        }
    }

    // MARK: The budget

    /// Calls with a budget in microseconds.
    private func ask(
        _ bench: BusBench, _ kind: String, key: String? = nil, budget: RequestBudget
    ) async throws -> BusReply {
        try await bench.ask(kind, Accepted(), key: key, budget: budget)
    }

    @Test func nothingIsAskedOnceTheBudgetIsSpent() async throws {
        try await withServices { bench, shop in
            let budget = RequestBudget(microseconds: 10)
            budget.use(10)
            let failure = await #expect(throws: BusFailure.self) {
                try await ask(bench, "shop.mark.v1", key: "k", budget: budget)
            }
            #expect(failure?.failure.code == 124)
            #expect(failure?.failure.message == BusFailure.budgetSpent.failure.message)
            let marks = try await shop.number("SELECT count(*) FROM marks")
            #expect(marks == 0)
        }
    }

    @Test func aReadEndsWithItsBudgetAndSaysWhatItUsed() async throws {
        try await withServices { bench, _ in
            let budget = RequestBudget(microseconds: 1000)
            let failure = await #expect(throws: BusFailure.self) {
                try await ask(bench, "shop.ponder.v1", budget: budget)
            }
            #expect(failure?.failure.code == 124)
            #expect(budget.isSpent)
            let enough = RequestBudget(microseconds: 60_000_000)
            let reply = try await ask(bench, "shop.ponder.v1", budget: enough)
            #expect(try UserDeleted(serializedBytes: reply.body).deletedAt == 1_000_000)
            #expect(enough.used > 0)
        }
    }

    @Test func aWriteOverItsBudgetIsUndone() async throws {
        try await withServices { bench, shop in
            let failure = await #expect(throws: BusFailure.self) {
                try await ask(bench, "shop.mark.v1", key: "k", budget: RequestBudget(microseconds: 5000))
            }
            #expect(failure?.failure.code == 124)
            #expect(try await shop.number("SELECT count(*) FROM marks") == 0)
            #expect(try await shop.number("SELECT count(*) FROM keyedReplies") == 0)
            _ = try await ask(bench, "shop.mark.v1", key: "k", budget: RequestBudget(microseconds: 60_000_000))
            #expect(try await shop.number("SELECT count(*) FROM marks") == 1)
        }
    }

    @Test func whatAnotherServiceUsesIsOnTheSameAccount() async throws {
        try await withServices { bench, _ in
            let budget = RequestBudget(microseconds: 1_000_000)
            let reply = try await ask(bench, "shop.work.v1", budget: budget)
            let left = try UserDeleted(serializedBytes: reply.body).deletedAt
            #expect((0...700_000).contains(left))
            #expect(budget.used >= 300_000)
            #expect(budget.left <= 700_000)
        }
    }
}
