import Foundation

/// Reads a write-ahead log as SQLite would, and finds frames that SQLite would silently ignore
/// (https://www.sqlite.org/fileformat2.html#the_write_ahead_log). SQLite stops at the first broken frame; commits after
/// it would be lost unnoticed. `DatabaseInspection` uses it at each start.
struct WriteAheadLog {
    enum State: Equatable {
        /// No log, or one without a frame.
        case empty
        case sound
        /// The last frames are incomplete after a power failure. They were not committed, or the disk had not confirmed
        /// them.
        case torn
        /// Frames follow a broken one, so that SQLite does not read them. They are lost confirmed commits, or remains
        /// of commits that failed on a full disk; `latestGeneration` distinguishes these cases.
        case broken(String)
    }

    private(set) var state = State.empty
    /// Pages of the database after the last commit in the log; 0 without a commit.
    private(set) var pageCount: UInt32 = 0
    /// Pages beyond `filePages` that commits in the log contain.
    private(set) var laterPages: Set<UInt32> = []
    private let path: String
    /// The position and page size of the frames that SQLite does not read, and the salt of valid ones; set with
    /// `.broken`.
    private var unread: (position: Int, pageBytes: Int, salt: [UInt8])?

    /// False when the header is broken, so that SQLite reads no frame.
    var isReadable: Bool { state != .broken(Self.brokenHeader) }

    private static let brokenHeader = "its header is broken"
    private static let headerBytes = 32
    private static let frameHeaderBytes = 24
    /// Frames read per system call.
    private static let batch = 256

    /// - Parameters:
    ///   - path: the log. A missing one is empty.
    ///   - filePages: pages in the database file.
    init(path: String, filePages: UInt32) {
        self.path = path
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var header = [UInt8](repeating: 0, count: Self.headerBytes)
        guard pread(descriptor, &header, header.count, 0) == header.count else { return }
        scan(descriptor, header, filePages)
    }

    private mutating func scan(_ descriptor: Int32, _ header: [UInt8], _ filePages: UInt32) {
        let magic = header.word(0)
        var sum = Checksum(isBigEndian: magic == 0x377F_0683)
        header.withUnsafeBytes { sum.add(UnsafeRawBufferPointer(rebasing: $0[0..<24])) }
        let pageBytes = Int(header.word(8))
        let frameBytes = pageBytes + Self.frameHeaderBytes
        guard magic & ~1 == 0x377F_0682, (512...65_536).contains(pageBytes), sum.is(header.word(24), header.word(28))
        else {
            // SQLite syncs the header before it writes the first frame.
            if size(descriptor) > Self.headerBytes + 512 { state = .broken(Self.brokenHeader) }
            return
        }
        let salt = Array(header[16..<24])
        var buffer = [UInt8](repeating: 0, count: frameBytes * Self.batch)
        var position = Self.headerBytes
        var frame = 0
        var uncommitted: [UInt32] = []
        var broken: Int?
        var unreadAt = 0
        var hasCommitAfterBreak = false
        while true {
            let read = pread(descriptor, &buffer, buffer.count, off_t(position))
            let frames = max(0, read) / frameBytes
            guard frames > 0 else { break }
            for index in 0..<frames {
                frame += 1
                let start = index * frameBytes
                let hasSalt = buffer[start + 8..<start + 16].elementsEqual(salt)
                let commitPages = buffer.word(start + 4)
                if broken == nil {
                    let isSound =
                        hasSalt
                        && buffer.withUnsafeBytes { bytes in
                            sum.add(UnsafeRawBufferPointer(rebasing: bytes[start..<start + 8]))
                            sum.add(UnsafeRawBufferPointer(rebasing: bytes[start + 24..<start + frameBytes]))
                            return sum.is(buffer.word(start + 16), buffer.word(start + 20))
                        }
                    if isSound {
                        take(buffer.word(start), commitPages, &uncommitted, filePages)
                        continue
                    }
                    broken = frame
                    unreadAt = position + start
                }
                // A transaction's frames may reach the disk in any order, so frames of the last transaction prove
                // nothing.
                guard hasSalt else { continue }
                if hasCommitAfterBreak, let broken {
                    state = .broken("frame \(broken) is broken, and frame \(frame) after it was committed later")
                    unread = (unreadAt, pageBytes, salt)
                    return
                }
                hasCommitAfterBreak = commitPages > 0
            }
            position += frames * frameBytes
        }
        guard frame > 0 else { return }
        // Without a commit after them they belong to an earlier log or to a transaction that was rolled back.
        state = hasCommitAfterBreak ? .torn : .sound
    }

    private mutating func take(
        _ page: UInt32, _ commitPages: UInt32, _ uncommitted: inout [UInt32], _ filePages: UInt32
    ) {
        if page > filePages { uncommitted.append(page) }
        guard commitPages > 0 else { return }
        pageCount = commitPages
        laterPages.formUnion(uncommitted)
        uncommitted = []
    }

    /// The highest generation in the frames that SQLite does not read; nil when none of them contains the identity's
    /// row.
    ///
    /// The writer assigns generation n only after the disk has confirmed the commit of n - 1. So n in a frame proves
    /// the commit of n - 1, even if the frame's own commit failed.
    func latestGeneration(of database: String) -> Int64? {
        guard let unread else { return nil }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var latest: Int64?
        var position = unread.position
        var frame = [UInt8](repeating: 0, count: unread.pageBytes + Self.frameHeaderBytes)
        while pread(descriptor, &frame, frame.count, off_t(position)) == frame.count {
            position += frame.count
            guard frame[8..<16].elementsEqual(unread.salt),
                let found = StoreIdentity.generation(in: frame, of: database)
            else { continue }
            latest = max(latest ?? found, found)
        }
        return latest
    }

    private func size(_ descriptor: Int32) -> Int {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0
    }
}

/// The checksum over a log's header and frames.
private struct Checksum {
    let isBigEndian: Bool
    private var first: UInt32 = 0
    private var second: UInt32 = 0

    init(isBigEndian: Bool) { self.isBigEndian = isBigEndian }

    /// - Parameter bytes: a multiple of eight.
    mutating func add(_ bytes: UnsafeRawBufferPointer) {
        var offset = 0
        while offset + 8 <= bytes.count {
            let one = bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
            let two = bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
            first &+= (isBigEndian ? UInt32(bigEndian: one) : UInt32(littleEndian: one)) &+ second
            second &+= (isBigEndian ? UInt32(bigEndian: two) : UInt32(littleEndian: two)) &+ first
            offset += 8
        }
    }

    func `is`(_ first: UInt32, _ second: UInt32) -> Bool { self.first == first && self.second == second }
}

extension [UInt8] {
    /// A big-endian number of four bytes.
    func word(_ offset: Int) -> UInt32 {
        self[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }
}
