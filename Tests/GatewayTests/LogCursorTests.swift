import GatewayService
import ParseProtocol
import Testing

/// Following a log: each line is returned once, despite rotation, truncation and partial writes. Files are byte arrays
/// here.
@Suite struct LogCursorTests {
    /// A log with its rotated files, newest first.
    private struct Log {
        var files: [(inode: UInt64, bytes: [UInt8])] = [(1, [])]
        private var lastInode: UInt64 = 1

        mutating func write(_ text: String) { files[0].bytes += Array(text.utf8) }

        mutating func putAside(keeping: Int = 3) {
            lastInode += 1
            files.insert((lastInode, []), at: 0)
            files = Array(files.prefix(keeping + 1))
        }

        /// The lines that a reader at a position gets, and its new position.
        func follow(_ position: inout LogCursor.Position?, room: Int) -> (lines: [String], isMore: Bool, isGap: Bool) {
            let states = files.map { LogCursor.File(inode: $0.inode, size: UInt64($0.bytes.count)) }
            let (parts, isGap) = LogCursor.parts(after: position, of: states)
            guard let first = parts.first else { return ([], false, isGap) }
            var take = LogTake(from: .init(inode: states[first.file].inode, offset: first.offset), room: room)
            for part in parts {
                let bytes = files[part.file].bytes.dropFirst(Int(part.offset)).prefix(take.room)
                guard take.add(Array(bytes), at: part.offset, of: states[part.file]) else { break }
            }
            position = take.position
            return (take.lines, take.isMore, isGap)
        }
    }

    @Test(arguments: [40, 64, 1000])
    func eachLineIsToldOnceAcrossLogsThatArePutAside(_ room: Int) {
        var log = Log()
        var position: LogCursor.Position?
        var told: [String] = []
        // A reader that starts in the middle of a line gets the rest of it.
        _ = log.follow(&position, room: room)
        for round in 0..<60 {
            // In parts, so that the log is rotated in the middle of a line.
            log.write("line \(round) begins ")
            if round.isMultiple(of: 7) { log.putAside() }
            log.write("and ends\n")
            guard round.isMultiple(of: 3) else { continue }
            var isMore = true
            while isMore {
                let found = log.follow(&position, room: room)
                #expect(!found.isGap)
                told += found.lines
                isMore = found.isMore
            }
        }
        told += log.follow(&position, room: 10_000).lines
        #expect(told == (0..<60).map { "line \($0) begins and ends" })
    }

    @Test func whatIsNotWholeWaits() {
        var log = Log()
        var position: LogCursor.Position?
        log.write("one\ntw")
        #expect(log.follow(&position, room: 100).lines == ["one"])
        #expect(log.follow(&position, room: 100).lines == [])
        log.write("o\n")
        #expect(log.follow(&position, room: 100).lines == ["two"])
    }

    @Test func aReaderThatMissedLinesLearnsIt() {
        var log = Log()
        var position: LogCursor.Position?
        log.write("old\n")
        _ = log.follow(&position, room: 100)
        for _ in 0..<5 {
            log.putAside(keeping: 2)
            log.write("new\n")
        }
        let found = log.follow(&position, room: 100)
        #expect(found.isGap)
        #expect(found.lines == ["new"])
        #expect(!log.follow(&position, room: 100).isGap)
    }

    @Test func aLineWithoutEndDoesNotStopTheOthers() {
        var log = Log()
        var position: LogCursor.Position?
        log.write(String(repeating: "x", count: 100) + "\nafter\n")
        var told: [String] = []
        for _ in 0..<10 { told += log.follow(&position, room: 30).lines }
        #expect(told.last == "after")
    }

    @Test func aCursorIsReadAsItIsWritten() throws {
        var cursor = LogCursor()
        cursor.positions = ["catalog-1": .init(inode: 7, offset: 12), "bag-2": .init(inode: .max, offset: 0)]
        #expect(try LogCursor(cursor.text) == cursor)
        #expect(try LogCursor("").positions.isEmpty)
        for text in ["x", "a:1", "a:b:1", "a:1:-1", "a:1:2:3"] {
            #expect(throws: ParseError.self) { try LogCursor(text) }
        }
    }
}
