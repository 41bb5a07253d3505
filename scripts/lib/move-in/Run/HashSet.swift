/// 64-bit hashes, sorted now and then: 8 bytes for each different one.
struct HashSet: Sendable {
    private var sorted: [UInt64] = []
    private var pending: [UInt64] = []
    private var repeats: Set<UInt64> = []
    private let keepsRepeats: Bool

    init(keepsRepeats: Bool = false) { self.keepsRepeats = keepsRepeats }

    mutating func insert(_ hash: UInt64) {
        pending.append(hash)
        if pending.count > max(1 << 16, sorted.count / 4) { compact() }
    }

    /// Quick after `compact`.
    func contains(_ hash: UInt64) -> Bool {
        var (low, high) = (0, sorted.count)
        while low < high {
            let middle = (low + high) / 2
            if sorted[middle] < hash { low = middle + 1 } else { high = middle }
        }
        return low < sorted.count && sorted[low] == hash || pending.contains(hash)
    }

    /// The hashes that were inserted more than once, if they are kept.
    mutating func repeated() -> Set<UInt64> {
        compact()
        return repeats
    }

    /// The hashes that the other set lacks.
    mutating func missing(in other: inout HashSet) -> Set<UInt64> {
        compact()
        other.compact()
        var missing: Set<UInt64> = [], place = 0
        for hash in sorted {
            while place < other.sorted.count, other.sorted[place] < hash { place += 1 }
            if place == other.sorted.count || other.sorted[place] != hash { missing.insert(hash) }
        }
        return missing
    }

    mutating func compact() {
        guard !pending.isEmpty else { return }
        sorted += pending
        pending.removeAll(keepingCapacity: true)
        sorted.sort()
        var count = 0
        for place in sorted.indices {
            let hash = sorted[place]
            if count > 0, sorted[count - 1] == hash {
                if keepsRepeats { repeats.insert(hash) }
            } else {
                sorted[count] = hash
                count += 1
            }
        }
        sorted.removeLast(sorted.count - count)
    }
}
