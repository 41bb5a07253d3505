/// The files that the suite has, for a comparison: `FileMover` finds each one equal, or lacking.
struct StoredFiles: FileSuite {
    let suite: any FileSuite

    func checksum(of name: String) async throws -> String? { try await suite.checksum(of: name) }

    func store(_ file: ShelvedFile, as name: String, checksum: String) async throws {
        throw ShelfProblem(reason: "the suite lacks it or has another content")
    }
}

/// Counts rows with files that the suite lacks.
actor LackingFiles {
    private static let examplesMax = 10

    private(set) var count = 0
    private(set) var examples: [String] = []

    func add(_ refusal: RefusedRow) {
        count += 1
        guard examples.count < Self.examplesMax else { return }
        examples.append("\(refusal.className) \(refusal.objectId ?? ""): \(refusal.reason)")
    }
}
