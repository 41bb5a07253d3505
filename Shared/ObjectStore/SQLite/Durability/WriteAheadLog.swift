import Foundation

/// A write-ahead log: what SQLite would take over from it, and what it would pass over in silence
/// (https://www.sqlite.org/fileformat2.html#the_write_ahead_log). SQLite ends at the first frame that is broken;
/// whatever was committed after it would be gone without a word.
struct WriteAheadLog: Equatable {
    enum State: Equatable {
        /// No log, or one without a frame.
        case empty
        case sound
        /// The last frames are torn, as a power failure leaves them: they were not committed, or the disk had not
        /// confirmed them.
        case torn
        /// Frames that were committed and confirmed cannot be reached any more.
        case damaged(String)
    }

    private(set) var state = State.empty
    /// Pages of the database after the last commit in the log; 0 when there is none.
    private(set) var pageCount: UInt32 = 0
    /// Pages beyond `filePages` that the log's commits hold.
    private(set) var laterPages: Set<UInt32> = []

    private static let headerBytes = 32
    private static let frameHeaderBytes = 24
    /// Frames read at once.
    private static let batch = 256

    /// - Parameters:
    ///   - path: the log. A missing one is empty.
    ///   - filePages: pages in the database file.
    init(path: String, filePages: UInt32) {
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
            // The header is brought to the disk before the first frame.
            if size(descriptor) > Self.headerBytes + 512 { state = .damaged("its header is broken") }
            return
        }
        let salt = Array(header[16..<24])
        var buffer = [UInt8](repeating: 0, count: frameBytes * Self.batch)
        var position = Self.headerBytes
        var frame = 0
        var uncommitted: [UInt32] = []
        var broken: Int?
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
                }
                // A transaction's frames may reach the disk in any order, so those of the last one prove nothing. What
                // stands after its commit was written when the disk had confirmed it.
                guard hasSalt else { continue }
                if hasCommitAfterBreak, let broken {
                    state = .damaged("frame \(broken) is broken, and frame \(frame) after it was committed later")
                    return
                }
                hasCommitAfterBreak = commitPages > 0
            }
            position += frames * frameBytes
        }
        guard frame > 0 else { return }
        // Without a commit behind them they are frames of an earlier log, or of a transaction that was undone.
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

    private func size(_ descriptor: Int32) -> Int {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0
    }
}

/// The running sum over a log's header and frames.
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
