import Cryptography
import Foundation
import ParseProtocol
import Testing

@testable import MoveIn

/// Moving the files of rows: the places of File values, their new form, and the state after a killed run.
@Suite struct FileMoverTests {
    private static let digits = "0123456789abcdef0123456789abcdef"
    private static let hosted = "tfss-01234567-89ab-cdef-0123-456789abcdef-photo.png"

    private static func row(_ fields: [String: JSON], _ id: String = "item1") -> MovedRow {
        MovedRow(
            className: "Item", objectId: id, updatedAt: nil, fields: fields,
            place: SourcePlace(file: "Item", offset: nil))
    }

    private static func file(_ name: String, _ url: String? = nil) -> JSON {
        var file: JSON = ["__type": "File", "name": .string(name)]
        if let url { file["url"] = .string(url) }
        return file
    }

    private static func mover(
        _ shelves: [any FileShelf], _ suite: MemoryFileSuite, _ lacking: Lacking = Lacking(), sends: Bool = true
    ) -> FileMover {
        FileMover(shelves: shelves, suite: suite, sends: sends, lack: { await lacking.add($0) })
    }

    // MARK: - Names

    @Test func namesStayWhereSatchelCouldHaveGivenThem() {
        let name = "\(Self.digits)_read me.txt"
        #expect(OldFile(name: name).storedName == name)
        #expect(OldFile(name: Self.hosted).storedName == "\(Self.digits)_photo.png")
        #expect(OldFile(name: Self.hosted).isUnique && OldFile(name: name).isUnique)
    }

    @Test(arguments: [
        "photo.png", "../x", "..", "a/b/c.png", "\(FileMoverTests.digits)-secret.pdf",
        "\(FileMoverTests.digits)_~photo.png", "über.png",
        "\(FileMoverTests.digits)_../../x", "a\u{0}b.png", "\(FileMoverTests.digits)_",
        String(repeating: "long", count: 80) + ".png", "%2e%2e%2fx",
    ])
    func otherNamesBecomeSafeOnes(old: String) {
        let name = OldFile(name: old).storedName
        #expect(
            FileNames.isStoredName(name) && !FileNames.isPrivate(name) && !FileNames.isAccountPhoto(name), "\(name)")
        #expect(throws: Never.self) { try FileNames.check(FileNames.original(name)) }
        #expect(name == OldFile(name: old).storedName)
        #expect(OldFile(name: old).storedName(checksum: "1") != name)
    }

    @Test func aFileWithoutANameIsNamedByItsAddress() {
        let value: JSON = ["__type": "File", "url": "https://old.example/files/app/a%20b.png?x=1"]
        #expect(OldFile(value)?.name == "a b.png")
        #expect(OldFile(["__type": "File"]) == nil)
        #expect(OldFile(["__type": "Date", "name": "x"]) == nil)
    }

    // MARK: - Values

    @Test func filesAreFoundInColumnsArraysAndNestedObjects() async throws {
        let (one, two, three) = ("\(Self.digits)_1.png", Self.hosted, "photo.png")
        let suite = MemoryFileSuite()
        let mover = Self.mover([MemoryShelf([one: [1], two: [2], three: [3]])], suite)
        let old: [String: JSON] = [
            "column": Self.file(one, "https://old.example/1.png"), "text": .string(one), "none": .null,
            "list": [1, Self.file(two), ["deep": ["deeper": [Self.file(three)]]]],
            "object": ["a": ["b": Self.file(one)], "__type": "Object", "className": "Item", "objectId": "x"],
        ]
        let rows = try await mover.moved([Self.row(old), Self.row(["rank": 1], "item2")])
        let hosted = "\(Self.digits)_photo.png", plain = OldFile(name: three).storedName
        #expect(
            rows.first?.fields == [
                "column": Self.file(one), "text": .string(one), "none": .null,
                "list": [1, Self.file(hosted), ["deep": ["deeper": [Self.file(plain)]]]],
                "object": ["a": ["b": Self.file(one)], "__type": "Object", "className": "Item", "objectId": "x"],
            ])
        #expect(rows.last?.fields == ["rank": 1])
        #expect(await Set(suite.files.keys) == [one, hosted, plain])
        // The value without an address is compared with the stored file.
        #expect(await mover.figures == FileFigures(copied: 3, unchanged: 1, lacking: 0, bytes: 3))
    }

    @Test func whatCannotBeMovedIsListedAndKeepsItsName() async throws {
        let lacking = Lacking()
        let suite = MemoryFileSuite()
        let names = ["gone.png", "\(Self.digits)_drawing.svg", "\(Self.digits)_empty.txt"]
        let shelf = MemoryShelf([names[1]: [1], names[2]: []])
        let mover = Self.mover([shelf], suite, lacking)
        let old: [String: JSON] = ["files": .array(names.map { Self.file($0, "https://old.example/\($0)") })]
        let rows = try await mover.moved([Self.row(old), Self.row(["file": Self.file("gone.png")], "item2")])
        #expect(rows.first?.fields["files"] == .array(names.map { Self.file($0) }))
        #expect(rows.last?.fields["file"] == Self.file("gone.png"))
        let listed = await lacking.rows
        #expect(listed.count == 4)
        #expect(listed.map(\.objectId) == ["item1", "item1", "item1", "item2"])
        #expect(listed.contains { $0.reason.contains("svg is disabled") })
        #expect(listed.contains { $0.reason.contains("is empty") })
        #expect(await suite.files.isEmpty)
    }

    @Test func aFileThatOnlyAnEarlierRunFoundKeepsItsNewName() async throws {
        let (suite, lacking) = (MemoryFileSuite(), Lacking())
        let rows = ["photo.png", "away.png"].map { Self.row(["file": Self.file($0)], $0) }
        let shelf = MemoryShelf(["photo.png": [1], "away.png": [2]])
        let first = try await Self.mover([shelf], suite).moved(rows)
        #expect(try await Self.mover([], suite, lacking).moved(rows) == first)
        #expect(await lacking.rows.count == 2)
        // No answer of the place is no reason either.
        #expect(try await Self.mover([BrokenShelf()], suite).moved(rows) == first)
    }

    private struct BrokenShelf: FileShelf {
        let name = "the broken shelf"
        let isLocal = false

        func open(_ file: OldFile, bytesMax: Int) async throws -> ShelvedFile? {
            throw ShelfProblem(reason: "there is no answer", isAway: true)
        }
    }

    @Test func equalNamesWithOtherContentBecomeTwoFiles() async throws {
        let suite = MemoryFileSuite()
        // The addresses differ.
        let (one, two) = (OldFile(name: "logo.png", url: "https://a/"), OldFile(name: "logo.png", url: "https://b/"))
        let shelf = MemoryShelf(files: [one: [1], two: [2]], isLocal: false)
        let row = Self.row(["a": Self.file("logo.png", "https://a/"), "b": Self.file("logo.png", "https://b/")])
        let moved = try await Self.mover([shelf], suite).moved([row])
        let names = ["a", "b"].map { moved.first?.fields[$0]?["name"]?.stringValue ?? "" }
        let files = await suite.files
        #expect(Set(names).count == 2)
        #expect(names.map { files[$0]?.content } == [[1], [2]])
        // Again: each finds its own.
        let mover = Self.mover([shelf], suite)
        let again = try await mover.moved([row])
        #expect(Set(["a", "b"].compactMap { again.first?.fields[$0]?["name"]?.stringValue }) == Set(names))
        #expect(await suite.files.count == 2)
        #expect(await mover.figures.copied == 0)
    }

    @Test func aStoredFileOfAnotherProgramIsComparedByItsContent() async throws {
        let suite = MemoryFileSuite()
        let name = "\(Self.digits)_1.png"
        await suite.put([9], as: name)
        let mover = Self.mover([MemoryShelf([name: [1]])], suite)
        let moved = try await mover.moved([Self.row(["file": Self.file(name)])])
        let new = moved.first?.fields["file"]?["name"]?.stringValue ?? ""
        let files = await suite.files
        #expect(new != name && files[new]?.content == [1] && files[name]?.content == [9])
    }

    // MARK: - Runs

    @Test func aFileIsFetchedOnceHoweverOftenItIsNamed() async throws {
        let suite = MemoryFileSuite()
        let name = "\(Self.digits)_1.png"
        let shelf = MemoryShelf([name: [1]], isLocal: false)
        let mover = Self.mover([shelf], suite)
        let rows = (0..<50).map { Self.row(["file": Self.file(name)], "item\($0)") }
        async let first = mover.moved(rows)
        async let second = mover.moved(rows)
        _ = try await (first, second)
        #expect(await shelf.opened == 1)
        #expect(await suite.stores == 1)
        // The next run does not fetch it again: its name is unique, and its checksum is there.
        _ = try await Self.mover([shelf], suite).moved(rows)
        #expect(await shelf.opened == 1)
    }

    @Test func atMostEightCopiesRunAtOnceAndLargeOnesAlone() async throws {
        let suite = MemoryFileSuite()
        let large = [UInt8](repeating: 1, count: FileMover.smallBytesMax + 1)
        var files = Dictionary(uniqueKeysWithValues: (0..<60).map { ("small\($0).txt", [UInt8(clamping: $0), 7]) })
        files["large.txt"] = large
        files["huge.txt"] = [UInt8](repeating: 2, count: FileMover.bytesMax + 1)
        let lacking = Lacking()
        let values = files.keys.sorted().map { Self.file($0) }
        let moved = try await Self.mover([MemoryShelf(files)], suite, lacking).moved([
            Self.row(["files": .array(values)])
        ])
        #expect(moved.count == 1)
        #expect(await suite.files.count == 61)
        #expect(await suite.most <= FileMover.copiesAtOnce)
        #expect(await lacking.rows.map(\.reason).filter { $0.contains("huge.txt") }.count == 1)
        #expect(await lacking.rows.count == 1)
    }

    /// A run that is killed after any number of requests, and the next one.
    @Test func aKilledRunIsContinued() async throws {
        let names = (0..<20).map { "file\($0).txt" } + (0..<5).map { "\(Self.digits)_\($0).png" }
        let files = Dictionary(uniqueKeysWithValues: names.map { ($0, Array($0.utf8)) })
        let rows = names.enumerated().map { Self.row(["file": Self.file($1)], "item\($0)") }
        let whole = MemoryFileSuite()
        let expected = try await Self.mover([MemoryShelf(files)], whole).moved(rows)
        let requests = 2 * names.count
        for limit in 0..<requests {
            let suite = MemoryFileSuite()
            await suite.stop(after: limit)
            await #expect(throws: MemoryFileSuite.Stopped.self) {
                try await Self.mover([MemoryShelf(files)], suite).moved(rows)
            }
            let before = await suite.stores
            await suite.stop(after: .max)
            #expect(try await Self.mover([MemoryShelf(files)], suite).moved(rows) == expected)
            #expect(await suite.files.mapValues(\.checksum) == whole.files.mapValues(\.checksum))
            #expect(await suite.stores == names.count, "after \(limit) requests, \(before) of them copies")
        }
    }

    @Test func aDryRunStoresNothing() async throws {
        let suite = MemoryFileSuite()
        let lacking = Lacking()
        let here = MemoryShelf(["a.txt": [1, 2]])
        let far = MemoryShelf([:], isLocal: false)
        let row = Self.row(["a": Self.file("a.txt"), "b": Self.file("b.txt")])
        let mover = Self.mover([here], suite, lacking, sends: false)
        _ = try await mover.moved([row])
        #expect(await suite.files.isEmpty)
        #expect(await mover.figures == FileFigures(copied: 1, unchanged: 0, lacking: 1, bytes: 2))
        #expect(await lacking.rows.count == 1)
        // Another place may have it.
        _ = try await Self.mover([here, far], suite, lacking, sends: false).moved([row])
        #expect(await lacking.rows.count == 1)
        #expect(await far.opened == 0)
    }
}
