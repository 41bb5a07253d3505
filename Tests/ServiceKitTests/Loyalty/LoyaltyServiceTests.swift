import Foundation
import MessageBus
import Messages
import ParseProtocol
import ServiceKit
import TestSupport
import Testing

/// The example service of docs/guides/cloud-code.md, which shows how a shop adds its own service in Swift.
@Suite(.serialized, .timeLimit(.minutes(10))) struct LoyaltyServiceTests {
    private static let ann = "annannanna"

    /// Calls a function as the gateway does.
    private func call(
        _ name: String, _ parameters: JSON = [:], key: String? = nil, as principal: Principal = .satchel,
        on bench: BusBench
    ) async throws -> JSON {
        let reply = try await bench.ask(
            ObjectCalls(of: "loyalty").function.kind, FunctionRequest.with { $0.name = name }, key: key,
            documents: [parameters.serialized], as: principal)
        return try JSON(parsing: try #require(reply.documents.first))
    }

    @Test func pointsAreGivenOnceAndSeenByTheirOwner() async throws {
        try await BusBench.with { bench in
            try await bench.start(loyaltyPlan, buildLoyalty)
            let ann = Principal.with { $0.userID = Self.ann }
            let gift: JSON = ["userId": .string(Self.ann), "points": 10]
            #expect(try await call("points", as: ann, on: bench) == 0)
            #expect(try await call("givePoints", gift, key: "one", on: bench) == 10)
            #expect(try await call("givePoints", gift, key: "one", on: bench) == 10, "A repetition gives nothing.")
            #expect(try await call("givePoints", gift, key: "two", on: bench) == 20)
            #expect(try await call("points", as: ann, on: bench) == 20)
        }
    }

    @Test func onlyAnAdminGivesAndOnlyWhatMakesSense() async throws {
        try await BusBench.with { bench in
            try await bench.start(loyaltyPlan, buildLoyalty)
            let ann = Principal.with { $0.userID = Self.ann }
            let refused: [(String, JSON, Principal, Int32)] = [
                ("givePoints", ["userId": .string(Self.ann), "points": 10], ann, 119),
                ("givePoints", ["userId": .string(Self.ann), "points": -1], .satchel, 142),
                ("givePoints", ["userId": .string(Self.ann)], .satchel, 142),
                ("givePoints", ["points": 1], .satchel, 142), ("points", [:], Principal(), 209),
            ]
            for (name, parameters, principal, code) in refused {
                let failure = await #expect(throws: BusFailure.self) {
                    try await call(name, parameters, key: UUID().uuidString, as: principal, on: bench)
                }
                #expect(failure?.failure.code == code, "\(name) \(parameters)")
            }
        }
    }
}
