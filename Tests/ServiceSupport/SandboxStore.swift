import Foundation
import Logging
import Messages
import ObjectStore
import ParseProtocol
import ProcessKit
import ServiceKit
import TestSupport

/// A service's store in a temporary folder, for tests that need a real one.
package final class SandboxStore: Sendable {
    package let store: ClassStore
    private let rules: [String: any ClassRules]
    private let folder: URL

    /// - Parameter writers: `.every` requires PostgreSQL.
    package init(_ plan: ServicePlan, writers: StoreWriters = .one) async throws {
        // Tests count by day.
        try await untilDayIsNotEnding(for: .seconds(30))
        folder = FileManager.default.temporaryDirectory.appending(path: "satchel-\(Names.random(12))")
        store = try ClassStore(
            testDatabase(plan.name, in: folder), classes: plan.classes, writers: writers, allowClassCreation: false,
            allowCustomObjectId: true, migrations: [.serviceKit, plan.migrations], logger: Logger(label: "test"))
        rules = try plan.classRules(over: store, in: folder.path)
        await withCheckedContinuation { continuation in
            store.startWriting { continuation.resume() }
        }
    }

    deinit {
        store.stop()
        try? FileManager.default.removeItem(at: folder)
    }

    /// Applies a client's change with the class's rules, as the service's write route does.
    @discardableResult
    package func apply(
        _ verb: ProposedChange.Verb, _ className: String, _ objectId: String? = nil, _ object: JSON = [:],
        imported: Bool = false, as principal: Principal
    ) async throws -> ChangeOutcome {
        var change = ProposedChange(
            verb: verb, className: className, objectId: objectId, object: object, principal: principal,
            isImported: imported, for: nil)
        let rules = rules[className]
        try await rules?.prepare(&change)
        let prepared = change
        return try await store.write { transaction in
            try transaction.nested { try ServiceRoutes.apply(prepared, rules, in: transaction) }
        }
    }

    package func document(_ className: String, _ objectId: String) async throws -> JSON {
        try await store.write { try $0.document(className, objectId, caller: .master) }
    }

    package func count(_ sql: String) async throws -> Int64 {
        try await store.write { try $0.rows(sql).first?.int(0) ?? 0 }
    }
}

extension ClassStore {
    /// A read that belongs to no request.
    package func read<T: Sendable>(_ body: @escaping @Sendable (StoreReader) throws -> T) async throws -> T {
        try await read(for: nil, body)
    }

    /// A job that belongs to no request.
    package func write<T: Sendable>(_ body: @escaping @Sendable (StoreTransaction) throws -> T) async throws -> T {
        try await write(for: nil, body)
    }
}

extension ServicePlan {
    /// The rules of a service with this store.
    package func classRules(over store: ClassStore, in folder: String) throws -> [String: any ClassRules] {
        rules(try host(over: store, in: folder))
    }

    /// A service with this store. It has no bus connection and cannot call other services.
    package func host(over store: ClassStore, in folder: String) throws -> ServiceHost {
        let settings = Settings(["SATCHEL_DATA": folder, "SATCHEL_BUS": "ipc:///nobody", "SATCHEL_QUOTAS": "off"])
        let host = try ServiceHost(
            plan: self, configuration: ServiceConfiguration(service: name, settings: settings), store: store,
            quotas: .unlimited, logger: Logger(label: "test"))
        host.bus.stop()
        return host
    }
}

extension Principal {
    package static func user(_ id: String, anonymous: Bool = false) -> Principal {
        Principal.with {
            $0.userID = id
            $0.anonymous = anonymous
        }
    }
}
