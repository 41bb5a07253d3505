import Foundation
import ParseProtocol
import Testing

/// The counters that announce changes: no stamp remains valid after a change of its subject, however the writer ends.
@Suite struct ChangeBoardTests {
    private let folder = NSTemporaryDirectory() + "boards-\(UUID().uuidString)"
    private var path: String { folder + "/shop.changes" }

    init() throws { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }

    private static let page = ChangeSubject.page(ofClass: "Product")
    private static let object = ChangeSubject.object(ofClass: "Product", id: "a")

    private static func changes(_ objects: [(String, String)]) -> ChangeSet {
        objects.reduce(into: ChangeSet()) { $0.note($1.0, $1.1) }
    }

    /// A board as opened by its writer, and as opened by a reader.
    private func boards() throws -> (writer: ChangeBoard, reader: ChangeBoard) {
        let writer = try ChangeBoard.keep(path)
        return (writer, try #require(ChangeBoard.find(path, identity: writer.identity)))
    }

    @Test func aStampHoldsUntilItsSubjectChanges() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (writer, reader) = try boards()
        writer.settle()
        let page = try #require(reader.stamp(of: Self.page))
        let object = try #require(reader.stamp(of: Self.object))
        let other = try #require(reader.stamp(of: .page(ofClass: "Store")))
        let changes = Self.changes([("Product", "b")])
        writer.begin(changes)
        // From before the commit, not only from after it.
        #expect(!page.isCurrent)
        #expect(reader.stamp(of: Self.page) == nil)
        #expect(object.isCurrent)
        writer.end(changes)
        #expect(!page.isCurrent)
        #expect(object.isCurrent)
        #expect(other.isCurrent)
        #expect(reader.stamp(of: Self.page)?.isCurrent == true)
        let own = Self.changes([("Product", "a")])
        writer.begin(own)
        writer.end(own)
        #expect(!object.isCurrent)
        #expect(other.isCurrent)
    }

    @Test func whatADeadWriterLeftIsUncertainUntilTheNextOneHasBegun() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (dead, reader) = try boards()
        dead.settle()
        let before = try #require(reader.stamp(of: .page(ofClass: "Store")))
        dead.begin(Self.changes([("Product", "a")]))
        // The dead writer does nothing more; only the file remains.
        #expect(reader.stamp(of: Self.object) == nil)
        #expect(before.isCurrent)
        let next = try ChangeBoard.keep(path)
        #expect(next.identity == reader.identity)
        #expect(!before.isCurrent)
        #expect(reader.stamp(of: .page(ofClass: "Store")) == nil)
        next.settle()
        #expect(!before.isCurrent)
        for subject in [Self.page, Self.object, .page(ofClass: "Store")] {
            #expect(reader.stamp(of: subject)?.isCurrent == true)
        }
    }

    @Test func everythingChangesWithAClassAndWithTooManyObjects() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (writer, reader) = try boards()
        writer.settle()
        var classes = ChangeSet()
        classes.noteEverything()
        let many = Self.changes((0..<ChangeSet.subjectsMax).map { ("Product", "\($0)") })
        #expect(many.isEverything)
        for changes in [classes, many] {
            let stamp = try #require(reader.stamp(of: .object(ofClass: "Store", id: "x")))
            let all = try #require(reader.stamp(of: .classes))
            writer.begin(changes)
            #expect(!stamp.isCurrent && !all.isCurrent)
            #expect(reader.stamp(of: .classes) == nil)
            writer.end(changes)
            #expect(!stamp.isCurrent && !all.isCurrent)
        }
        // A change of an object is not a change of the class.
        let all = try #require(reader.stamp(of: .classes))
        let one = Self.changes([("Product", "a")])
        writer.begin(one)
        writer.end(one)
        #expect(all.isCurrent)
    }

    @Test func noStampIsGivenOfABoardThatNobodyKeeps() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (writer, reader) = try boards()
        #expect(reader.stamp(of: Self.page) == nil)
        writer.settle()
        let stamp = try #require(reader.stamp(of: Self.page))
        writer.unsettle()
        #expect(!stamp.isCurrent)
        writer.settle()
        let again = try #require(reader.stamp(of: Self.page))
        try ChangeBoard.retire(path)
        #expect(!again.isCurrent)
        #expect(reader.stamp(of: Self.page) == nil)
        writer.settle()
        let last = try #require(reader.stamp(of: Self.page))
        reader.invalidateStamps()
        #expect(!last.isCurrent)
    }

    /// A copied folder of a running shop: the board belongs to another writer.
    @Test func aCopyIsNotTakenForTheBoardOfItsWriter() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (writer, _) = try boards()
        writer.settle()
        let copy = folder + "/copy.changes"
        try FileManager.default.copyItem(atPath: path, toPath: copy)
        let other = try ChangeBoard.keep(copy)
        other.settle()
        #expect(other.identity != writer.identity)
        #expect(ChangeBoard.find(path, identity: other.identity) == nil)
        #expect(ChangeBoard.find(copy, identity: other.identity)?.stamp(of: Self.page) != nil)
        #expect(ChangeBoard.find(copy, identity: writer.identity) == nil)
    }

    @Test func aBoardHasAllItsBlocks() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for bytes in [0, 100, 65_536] {
            try Data().write(to: URL(fileURLWithPath: path))
            #expect(truncate(path, off_t(bytes)) == 0)
            _ = try ChangeBoard.keep(path)
            var status = stat()
            #expect(stat(path, &status) == 0)
            #expect(status.st_size == 65_536)
            #expect(status.st_blocks * 512 >= 65_536, "A hole needs room when the disk has none.")
        }
    }

    @Test func anotherFileIsNoBoard() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        #expect(ChangeBoard.find(path, identity: 1) == nil)
        try ChangeBoard.retire(path)
        #expect(!FileManager.default.fileExists(atPath: path))
        try Data("short".utf8).write(to: URL(fileURLWithPath: path))
        #expect(!ChangeBoard.isThere(path))
        let writer = try ChangeBoard.keep(path)
        #expect(ChangeBoard.isThere(path))
        #expect(ChangeBoard.find(path, identity: writer.identity &+ 1) == nil)
        #expect(ChangeBoard.find(path, identity: writer.identity) != nil)
        #expect(throws: ChangeBoard.Unusable.self) { try ChangeBoard.keep(folder) }
    }
}
