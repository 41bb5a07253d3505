import Cryptography
import Outbound
import ParseProtocol

@testable import MoveIn

/// A suite that keeps files in memory. It can stop working after a number of requests.
actor MemoryFileSuite: FileSuite {
    struct Stored: Sendable, Equatable {
        var content: [UInt8]
        var checksum: String
    }

    private(set) var files: [String: Stored] = [:]
    private(set) var stores = 0
    /// The most copies that ran at the same time.
    private(set) var most = 0
    private var running = 0
    private var requestsLeft = Int.max

    struct Stopped: Error {}

    func stop(after requests: Int) { requestsLeft = requests }
    /// A file that another program stored.
    func put(_ content: [UInt8], as name: String) {
        files[name] = Stored(content: content, checksum: SHA256.hash(data: content).hex)
    }

    func checksum(of name: String) async throws -> String? {
        try count()
        return files[name]?.checksum
    }

    func store(_ file: ShelvedFile, as name: String, checksum: String) async throws {
        try count()
        running += 1
        most = max(most, running)
        await Task.yield()
        running -= 1
        guard !name.hasSuffix(".svg") else { throw ShelfProblem(reason: "File upload of extension svg is disabled.") }
        // As the suite: the first content of a name stays.
        if files[name] == nil { files[name] = Stored(content: file.content, checksum: checksum) }
        stores += 1
    }

    private func count() throws {
        guard requestsLeft > 0 else { throw Stopped() }
        requestsLeft -= 1
    }
}

/// A shelf in memory, local or far away.
actor MemoryShelf: FileShelf {
    nonisolated let name = "the shelf"
    nonisolated let isLocal: Bool
    private let files: [OldFile: [UInt8]]
    private(set) var opened = 0

    init(_ files: [String: [UInt8]], isLocal: Bool = true) {
        self.init(files: Dictionary(uniqueKeysWithValues: files.map { (OldFile(name: $0), $1) }), isLocal: isLocal)
    }

    init(files: [OldFile: [UInt8]], isLocal: Bool) { (self.files, self.isLocal) = (files, isLocal) }

    func open(_ file: OldFile, bytesMax: Int) async throws -> ShelvedFile? {
        opened += 1
        guard let content = files[file] ?? files[OldFile(name: file.name)] else { return nil }
        guard content.count <= bytesMax else { throw AnswerTooLarge() }
        return ShelvedFile(content: content)
    }
}

/// Collects rows with files that were not moved.
actor Lacking {
    private(set) var rows: [RefusedRow] = []
    func add(_ row: RefusedRow) { rows.append(row) }
}
