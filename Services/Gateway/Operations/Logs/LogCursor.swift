import ParseProtocol

/// The positions up to which a reader has read the processes' logs. Each line is read once, also after a log was
/// rotated. No I/O.
package struct LogCursor: Equatable, Sendable {
    /// A position in one file, identified by its inode, which survives renaming.
    package struct Position: Equatable, Sendable {
        package var inode: UInt64
        /// Bytes from the file's beginning.
        package var offset: UInt64

        package init(inode: UInt64, offset: UInt64) {
            self.inode = inode
            self.offset = offset
        }
    }

    /// The current state of a file.
    package struct File: Equatable, Sendable {
        package let inode: UInt64
        /// In bytes.
        package let size: UInt64

        package init(inode: UInt64, size: UInt64) {
            self.inode = inode
            self.size = size
        }
    }

    /// The bytes to read, from a position to the file's end.
    package struct Part: Equatable, Sendable {
        /// The index in the list of files.
        package let file: Int
        /// Bytes from the file's beginning.
        package let offset: UInt64
    }

    /// By process name.
    package var positions: [String: Position] = [:]

    package init() {}

    /// Parses `text`.
    /// - Throws: `.invalidQuery` (102) for a malformed cursor.
    package init(_ text: String) throws(ParseError) {
        for part in text.split(separator: ",") {
            let fields = part.split(separator: ":", omittingEmptySubsequences: false)
            guard fields.count == 3, let inode = UInt64(fields[1]), let offset = UInt64(fields[2]),
                positions.count < Self.processesMax
            else { throw ParseError(.invalidQuery, "after is not a cursor of the log.") }
            positions[String(fields[0])] = Position(inode: inode, offset: offset)
        }
    }

    /// More processes than a host has.
    private static let processesMax = 1000

    /// `catalog-1:<inode>:<offset>` and so on.
    package var text: String {
        positions.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value.inode):\($0.value.offset)" }
            .joined(separator: ",")
    }

    /// The parts that follow a position, in the order in which they were written.
    /// - Parameters:
    ///   - position: nil for a log that is new to the reader.
    ///   - files: the log and its rotated files, newest first.
    /// - Returns: `isGap` when the bytes after the position no longer exist.
    package static func parts(after position: Position?, of files: [File]) -> (parts: [Part], isGap: Bool) {
        guard !files.isEmpty else { return ([], false) }
        guard let position else { return ([Part(file: 0, offset: 0)], false) }
        guard let index = files.firstIndex(where: { $0.inode == position.inode }), position.offset <= files[index].size
        else { return ([Part(file: 0, offset: 0)], true) }
        let newer = (0..<index).reversed().map { Part(file: $0, offset: 0) }
        return ([Part(file: index, offset: position.offset)] + newer, false)
    }
}

/// Collects whole lines from the parts of one process's log. No I/O.
package struct LogTake: Sendable {
    /// The lines so far.
    package private(set) var lines: [String] = []
    /// The position after the last whole line.
    package private(set) var position: LogCursor.Position
    /// Bytes that may still be read.
    package private(set) var room: Int
    private let roomMax: Int
    /// Whether there is more to read.
    package private(set) var isMore = false
    /// The beginning of a line that continues in the next file: rotation may split a line.
    private var carry: [UInt8] = []

    /// Creates an empty collection.
    /// - Parameters:
    ///   - position: the beginning of the first part.
    ///   - room: the limit of bytes to read.
    package init(from position: LogCursor.Position, room: Int) {
        self.position = position
        self.room = room
        roomMax = room
    }

    /// Leaves out the first line.
    package mutating func dropFirst() { lines = Array(lines.dropFirst()) }

    /// Adds the bytes of a part.
    /// - Returns: whether the next part is to be read.
    package mutating func add(_ bytes: [UInt8], at offset: UInt64, of file: LogCursor.File) -> Bool {
        room -= bytes.count
        let all = carry + bytes
        if let end = all.lastIndex(of: UInt8(ascii: "\n")) {
            lines += String(decoding: all[..<end], as: UTF8.self).split(separator: "\n").map(String.init)
            position = .init(inode: file.inode, offset: offset + UInt64(end + 1 - carry.count))
            carry = Array(all[(end + 1)...])
        } else if all.count >= roomMax {
            // A line longer than the limit of one response is skipped, so that the reader can continue.
            position = .init(inode: file.inode, offset: offset + UInt64(bytes.count))
            carry = []
        } else {
            carry = all
        }
        isMore = room <= 0 && offset + UInt64(bytes.count) < file.size
        return !isMore
    }
}
