import ObjectStore
import ParseProtocol
import Platform
import ServiceSupport
import Testing

/// Schedules as the job runner reads them from the store.
@Suite struct StoredScheduleTests {
    private let sandbox: SandboxStore

    init() async throws { sandbox = try await SandboxStore(platformPlan) }

    private func schedule(startAfter: String) async throws -> String {
        let object: JSON = ["jobName": "j", "startAfter": .string(startAfter)]
        return try await sandbox.store.write { try $0.create("_JobSchedule", object, caller: .master).objectId }
    }

    private func isFound(_ id: String) async throws -> Bool {
        try await sandbox.store.write { try JobSchedule.stored(id, in: $0) != nil }
    }

    @Test func aMissingOrInvalidScheduleIsNotFound() async throws {
        let valid = try await schedule(startAfter: "2030-01-01T10:00:00.000Z")
        let invalid = try await schedule(startAfter: "soon")
        #expect(try await isFound(valid))
        #expect(try await !isFound(invalid))
        #expect(try await !isFound("missing"))
    }

    @Test func anErrorOfTheStoreIsThrown() async throws {
        let id = try await schedule(startAfter: "2030-01-01T10:00:00.000Z")
        await #expect(throws: (any Error).self) {
            try await sandbox.store.write { transaction in
                let rows = try transaction.rows("SELECT id FROM classes WHERE name = '_JobSchedule'", [])
                let number = try rows.first?.int(0) ?? 0
                _ = try transaction.execute("ALTER TABLE o\(number) RENAME TO moved")
                _ = try JobSchedule.stored(id, in: transaction)
            }
        }
        #expect(try await isFound(id), "The rename was rolled back.")
    }
}
