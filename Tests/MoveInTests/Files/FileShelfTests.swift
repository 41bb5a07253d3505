import Foundation
import Glibc
import Outbound
import ParseProtocol
import TestSupport
import Testing

@testable import MoveIn

/// Places with an old server's files: a folder, GridFS in a dump, and the web.
@Suite struct FileShelfTests {
    private static let digits = "e7860ae0a31659a0d79612e94899afb7"

    private func open(_ shelf: any FileShelf, _ name: String, bytesMax: Int = 1000) async throws -> [UInt8]? {
        try await shelf.open(OldFile(name: name), bytesMax: bytesMax)?.content
    }

    // MARK: - Folders

    @Test func aFolderHasFilesUnderTheirNamesAsStored() async throws {
        try await withFolder { folder in
            try write([1], "\(folder)/\(Self.digits)_readme%20notes.txt")
            try write([2], "\(folder)/a b.txt")
            let shelf = try FolderShelf(folder)
            #expect(try await open(shelf, "\(Self.digits)_readme notes.txt") == [1])
            #expect(try await open(shelf, "a b.txt") == [2])
            #expect(try await open(shelf, "a%20b.txt") == [2])
            #expect(try await open(shelf, "missing.txt") == nil)
            await #expect(throws: AnswerTooLarge.self) { try await self.open(shelf, "a b.txt", bytesMax: 0) }
        }
    }

    @Test func namesNeverLeadOutOfTheFolder() async throws {
        try await withFolder { folder in
            let inside = "\(folder)/files"
            try FileManager.default.createDirectory(atPath: "\(inside)/sub", withIntermediateDirectories: true)
            try write([1], "\(folder)/x")
            try write([2], "\(inside)/sub/y")
            try FileManager.default.createSymbolicLink(atPath: "\(inside)/link", withDestinationPath: "\(folder)/x")
            #expect(mkfifo("\(inside)/pipe", 0o600) == 0)
            let shelf = try FolderShelf(inside)
            for name in ["../x", "%2e%2e%2fx", "..%2Fx", "sub/y", "..", ".", "x\u{0}", "\(folder)/x"] {
                #expect(try await open(shelf, name) == nil, "\(name)")
            }
            for name in ["link", "sub", "pipe"] {
                await #expect(throws: ShelfProblem.self, "\(name)") { try await self.open(shelf, name) }
            }
        }
        #expect(throws: MoveInError.self) { try FolderShelf("/nowhere/at/all") }
    }

    /// All files of a database that a real Parse Server wrote.
    @Test func theFilesOfAParseServerMoveFromItsFolder() async throws {
        try await withFolder { folder in
            let archive = "\(fixtures)/parse-server-8.2.2/files.tar.gz"
            _ = try await Command.run(["tar", "-xzf", archive, "-C", folder])
            let source = try #require(try PostgreSQLDump.open(ParseServerFixture.dump))
            let suite = MemoryFileSuite()
            let lacking = Lacking()
            let shelves = try FileShelves.open(["\(folder)/fixture"], source: ParseServerFixture.dump, http: http([:]))
            let mover = FileMover(shelves: shelves, suite: suite, lack: { await lacking.add($0) })
            for name in ["Book", "Author", "Product", "_User"] {
                let read = try await source.read(name)
                let rows = await read.rows
                let moved = try await mover.moved(rows)
                // The suite keeps all names of this server.
                #expect(
                    moved.map { FileValues.all(in: $0.fields).map(\.name).sorted() }
                        == rows.map { FileValues.all(in: $0.fields).map(\.name).sorted() })
                #expect(moved.allSatisfy { FileValues.all(in: $0.fields).allSatisfy { $0.url == nil } })
            }
            #expect(await lacking.rows.isEmpty)
            let files = await suite.files
            #expect(files["e7860ae0a31659a0d79612e94899afb7_readme notes.txt"]?.content.count == 10)
            #expect(files.count == 7)
        }
    }

    // MARK: - GridFS

    private static func oid(_ last: UInt8) -> [UInt8] { [UInt8](repeating: 0, count: 11) + [last] }

    private static func entry(_ id: UInt8, _ name: String, length: Int, at time: Int64) -> [UInt8] {
        Built.document(
            Built.element(7, "_id", oid(id)), Built.element(0x12, "length", Built.little(Int64(length))),
            Built.element(9, "uploadDate", Built.little(time)),
            Built.element(2, "filename", Built.string(name)), Built.element(2, "contentType", Built.string("image/png"))
        )
    }

    private static func chunk(_ file: UInt8, _ number: Int32, _ data: [UInt8]) -> [UInt8] {
        Built.document(
            Built.element(7, "_id", oid(200)), Built.element(7, "files_id", oid(file)),
            Built.element(0x10, "n", Built.little(number)),
            Built.element(5, "data", Built.little(Int32(data.count)) + [0] + data))
    }

    @Test func gridFSFilesAreJoinedFromTheirChunks() async throws {
        try await withFolder { folder in
            let entries = [
                Self.entry(1, "one.png", length: 5, at: 10), Self.entry(2, "one.png", length: 1, at: 5),
                Self.entry(3, "cut.png", length: 4, at: 1), Self.entry(4, "gap.png", length: 2, at: 1),
            ]
            let chunks = [
                Self.chunk(1, 1, [4, 5]), Self.chunk(2, 0, [9]), Self.chunk(1, 0, [1, 2, 3]), Self.chunk(3, 0, [1, 2]),
                Self.chunk(4, 0, [1]), Self.chunk(4, 2, [2]),
            ]
            try write(entries.flatMap(\.self), "\(folder)/fs.files.bson")
            try write(chunks.flatMap(\.self), "\(folder)/fs.chunks.bson")
            let shelf = try #require(try GridFSShelf.open(folder))
            // The latest of two files of one name.
            let file = try await shelf.open(OldFile(name: "one.png"), bytesMax: 5)
            #expect(file == ShelvedFile(content: [1, 2, 3, 4, 5], contentType: "image/png"))
            #expect(try await open(shelf, "other.png") == nil)
            await #expect(throws: AnswerTooLarge.self) { try await self.open(shelf, "one.png", bytesMax: 4) }
            for name in ["cut.png", "gap.png"] {
                await #expect(throws: ShelfProblem.self, "\(name)") { try await self.open(shelf, name) }
            }
        }
    }

    @Test func aCompressedGridFSIsRefusedWithAWord() async throws {
        try await withFolder { folder in
            #expect(try GridFSShelf.open(folder) == nil)
            try write([0x1F, 0x8B], "\(folder)/fs.chunks.bson.gz")
            let error = #expect(throws: MoveInError.self) { try GridFSShelf.open(folder) }
            #expect(error?.description.contains("gunzip") == true)
        }
    }

    // MARK: - The web

    /// Files by URL.
    private struct Web: HTTPTransport {
        var answers: [String: OutboundResponse]

        func send(_ request: OutboundRequest) async throws(OutboundFailure) -> OutboundResponse {
            guard let answer = answers[request.url] else { throw OutboundFailure(.unreachable, wasNotSent: true) }
            guard answer.body.count <= request.answerBytesMax else {
                throw OutboundFailure(.answerTooLarge, wasNotSent: false)
            }
            return answer
        }
    }

    private func http(_ answers: [String: OutboundResponse]) -> PatientHTTP {
        PatientHTTP(Web(answers: answers), pause: { _ in })
    }

    @Test func filesComeFromAPrefixAndThroughRedirects() async throws {
        let http = self.http([
            "https://bucket.example/images/a%20b.png": OutboundResponse(
                status: 200, headers: ["content-type": "image/png"], body: [1]),
            "https://bucket.example/images/moved.png": OutboundResponse(
                status: 302, headers: ["location": "https://other.example/signed?key=1"], body: []),
            "https://other.example/signed?key=1": OutboundResponse(status: 200, body: [2]),
            "https://bucket.example/images/inside.png": OutboundResponse(
                status: 302, headers: ["location": "http://169.254.169.254/"], body: []),
            "https://bucket.example/images/gone.png": OutboundResponse(status: 404, body: []),
        ])
        let shelf = try WebShelf(prefix: "https://bucket.example/images", http: http)
        let found = try await shelf.open(OldFile(name: "a b.png"), bytesMax: 9)
        #expect(found == ShelvedFile(content: [1], contentType: "image/png"))
        #expect(try await open(shelf, "moved.png") == [2])
        #expect(try await open(shelf, "gone.png") == nil)
        await #expect(throws: ShelfProblem.self) { try await self.open(shelf, "inside.png") }
        await #expect(throws: AnswerTooLarge.self) { try await self.open(shelf, "a b.png", bytesMax: 0) }
        let away = await #expect(throws: ShelfProblem.self) { try await self.open(shelf, "away.png") }
        #expect(away?.isAway == true)
    }

    @Test func onlyTrustedAddressesAreAsked() async throws {
        let answer = OutboundResponse(status: 200, body: [1])
        let http = self.http([
            "https://files.parsetfss.com/key/tfss-a.png": answer, "http://10.0.0.1/admin": answer,
            "https://old.example.evil.example/x": answer,
        ])
        let shelf = try WebShelf(trusted: WebShelf.hosted + ["https://old.example"], http: http)
        let hosted = OldFile(name: "tfss-a.png", url: "https://files.parsetfss.com/key/tfss-a.png")
        #expect(try await shelf.open(hosted, bytesMax: 9)?.content == [1])
        #expect(try await shelf.open(OldFile(name: "tfss-a.png"), bytesMax: 9) == nil)
        for url in ["http://10.0.0.1/admin", "https://old.example.evil.example/x", "file:///etc/passwd"] {
            await #expect(throws: ShelfProblem.self, "\(url)") {
                try await shelf.open(OldFile(name: "x", url: url), bytesMax: 9)
            }
        }
        for prefix in ["ftp://old.example/", "https://ann:secret@old.example/", "https:///"] {
            let error = #expect(throws: MoveInError.self) { try WebShelf(prefix: prefix, http: http) }
            #expect(error?.description.contains("secret") == false)
        }
    }

    @Test func aHostThatStaysAwayEndsTheRun() async throws {
        let shelf = try WebShelf(prefix: "https://away.example/", http: http([:]))
        let lacking = Lacking()
        let mover = FileMover(shelves: [shelf], suite: MemoryFileSuite(), lack: { await lacking.add($0) })
        let files = (0..<100).map { number -> JSON in ["__type": "File", "name": .string("file\(number).png")] }
        let row = MovedRow(
            className: "Item", objectId: "item1", updatedAt: nil, fields: ["files": .array(files)],
            place: SourcePlace(file: "Item", offset: nil))
        await #expect(throws: MoveInError.self) { try await mover.moved([row]) }
    }
}
