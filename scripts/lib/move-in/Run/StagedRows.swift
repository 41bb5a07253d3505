import ParseProtocol

/// The hash of an id by which this program remembers ids.
///
/// Two of ten million ids have the same 64 bits with a probability of one in 370,000. The consequence is small: a row
/// that the old server deleted may stay staged, or a dangling pointer may be missing in the report. No row is skipped
/// because of it: `StagedRows` compares the checksum too, and the checksummed text includes the id.
enum IdHash {
    static func of(_ id: some Sequence<UInt8>) -> UInt64 {
        var hash = FNV1a()
        hash.add(id)
        return hash.mixed
    }
}

/// The rows of one class that the suite has staged: 16 bytes and two bits for each, 160 MB for ten million.
struct StagedRows: Sendable {
    /// How a row of the source compares with the staged ones.
    enum Comparison: Sendable {
        case new, changed, same
    }

    private struct Entry {
        var id: UInt64
        var checksum: UInt64
    }

    private var entries: [Entry] = []
    /// A bit for each entry: whether the source has it.
    private var met: [UInt64] = []
    private(set) var metCount = 0

    /// - Parameter count: the expected number of rows. Growing a large array would hold it twice for a moment.
    init(expecting count: Int) { entries.reserveCapacity(min(max(0, count), 1 << 27)) }

    var count: Int { entries.count }
    /// The number of staged rows that the source has not shown.
    var missingCount: Int { count - metCount }

    mutating func add(id: UInt64, checksum: UInt64) { entries.append(Entry(id: id, checksum: checksum)) }

    /// Must follow the last `add`.
    mutating func sort() {
        entries.sort { $0.id < $1.id }
        met = Array(repeating: 0, count: (entries.count + 63) / 64)
    }

    /// Compares a row of the source and remembers that the source has it.
    mutating func meet(id: UInt64, checksum: UInt64) -> Comparison {
        var place = firstPlace(of: id)
        guard place < entries.count, entries[place].id == id else { return .new }
        let first = place
        // More than one place only where hashes collide.
        while place < entries.count, entries[place].id == id {
            if entries[place].checksum == checksum {
                mark(place)
                return .same
            }
            place += 1
        }
        for place in first..<place { mark(place) }
        return .changed
    }

    /// Whether the id is staged and the source did not show it.
    func isMissing(id: UInt64) -> Bool {
        let place = firstPlace(of: id)
        return place < entries.count && entries[place].id == id && met[place / 64] & bit(place) == 0
    }

    private mutating func mark(_ place: Int) {
        guard met[place / 64] & bit(place) == 0 else { return }
        met[place / 64] |= bit(place)
        metCount += 1
    }

    private func bit(_ place: Int) -> UInt64 { 1 << UInt64(place % 64) }

    private func firstPlace(of id: UInt64) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

/// A page of staged rows as the suite lists them: lines of id, time and checksum.
struct StagedPage: Sendable {
    private(set) var rows: [(id: String, checksum: UInt64)] = []

    /// - Throws: `MoveInError` for a line of another form.
    init(parsing text: [UInt8]) throws {
        for line in text.split(separator: UInt8(ascii: "\n")) {
            let parts = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
            guard parts.count == 3, let checksum = UInt64(String(decoding: parts[2], as: UTF8.self), radix: 16) else {
                throw MoveInError("The suite lists staged rows in an unknown form: update both to one release.")
            }
            rows.append((String(decoding: parts[0], as: UTF8.self), checksum))
        }
    }
}
