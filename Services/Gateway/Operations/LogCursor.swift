import ParseProtocol

/// The places up to which somebody has read the logs of the processes: what follows is new to him, and nothing is told
/// twice, also after a log was put aside for a new one. No I/O.
package struct LogCursor: Equatable, Sendable {
    /// A place in one file, which has its inode as long as it is there, whatever its name.
    package struct Place: Equatable, Sendable {
        package var inode: UInt64
        /// Bytes from the file's beginning.
        package var offset: UInt64

        package init(inode: UInt64, offset: UInt64) {
            self.inode = inode
            self.offset = offset
        }
    }

    /// A file as it is now.
    package struct File: Equatable, Sendable {
        package let inode: UInt64
        /// In bytes.
        package let size: UInt64

        package init(inode: UInt64, size: UInt64) {
            self.inode = inode
            self.size = size
        }
    }

    /// The bytes that are to be read, from a place to the file's end.
    package struct Part: Equatable, Sendable {
        /// The file's index among those that there are.
        package let file: Int
        /// Bytes from the file's beginning.
        package let offset: UInt64
    }

    /// By the process's name.
    package var places: [String: Place] = [:]

    package init() {}

    /// A cursor as `text` has it.
    /// - Throws: `.invalidQuery` (102) for what is no cursor of ours.
    package init(_ text: String) throws(ParseError) {
        for part in text.split(separator: ",") {
            let fields = part.split(separator: ":", omittingEmptySubsequences: false)
            guard fields.count == 3, let inode = UInt64(fields[1]), let offset = UInt64(fields[2]),
                places.count < Self.processesMax
            else { throw ParseError(.invalidQuery, "after is no cursor of the log.") }
            places[String(fields[0])] = Place(inode: inode, offset: offset)
        }
    }

    /// More processes than a host has.
    private static let processesMax = 1000

    /// `catalog-1:<inode>:<offset>` and so on.
    package var text: String {
        places.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value.inode):\($0.value.offset)" }
            .joined(separator: ",")
    }

    /// The parts that follow a place, in the order in which they were written.
    /// - Parameters:
    ///   - place: nil for a log that is new to the reader.
    ///   - files: the log, and those that were put aside for it, the newest first.
    /// - Returns: `isGap` when what follows the place is not there any more.
    package static func parts(after place: Place?, of files: [File]) -> (parts: [Part], isGap: Bool) {
        guard !files.isEmpty else { return ([], false) }
        guard let place else { return ([Part(file: 0, offset: 0)], false) }
        guard let index = files.firstIndex(where: { $0.inode == place.inode }), place.offset <= files[index].size
        else { return ([Part(file: 0, offset: 0)], true) }
        let newer = (0..<index).reversed().map { Part(file: $0, offset: 0) }
        return ([Part(file: index, offset: place.offset)] + newer, false)
    }
}

/// Whole lines of what was read of one process's log, part after part. No I/O.
package struct LogTake: Sendable {
    /// The lines so far.
    package private(set) var lines: [String] = []
    /// The place after the last whole line.
    package private(set) var place: LogCursor.Place
    /// Bytes that may still be read.
    package private(set) var room: Int
    private let roomMax: Int
    /// Whether there is more than was read.
    package private(set) var isMore = false
    /// The beginning of a line whose end is in the next file: a log may be put aside in the middle of one.
    private var carry: [UInt8] = []

    /// Nothing yet.
    /// - Parameters:
    ///   - place: where the first part begins.
    ///   - room: bytes that are read at most.
    package init(from place: LogCursor.Place, room: Int) {
        self.place = place
        self.room = room
        roomMax = room
    }

    /// Leaves out the first line.
    package mutating func dropFirst() { lines = Array(lines.dropFirst()) }

    /// Takes what was read of a part.
    /// - Returns: whether the next part is to be read.
    package mutating func add(_ bytes: [UInt8], at offset: UInt64, of file: LogCursor.File) -> Bool {
        room -= bytes.count
        let all = carry + bytes
        if let end = all.lastIndex(of: UInt8(ascii: "\n")) {
            lines += String(decoding: all[..<end], as: UTF8.self).split(separator: "\n").map(String.init)
            place = .init(inode: file.inode, offset: offset + UInt64(end + 1 - carry.count))
            carry = Array(all[(end + 1)...])
        } else if all.count >= roomMax {
            // A line that is longer than all that is read at once is left out, or nothing would go on.
            place = .init(inode: file.inode, offset: offset + UInt64(bytes.count))
            carry = []
        } else {
            carry = all
        }
        isMore = room <= 0 && offset + UInt64(bytes.count) < file.size
        return !isMore
    }
}
